/// What a thumbnail keeps of its file beside the pixels. By default nothing: its colours are sRGB, and
/// it does not tell where a photograph was taken.
package struct KeptData: Hashable, Sendable {
  /// Whether the colours stay those of the file, with its profile.
  package let profile: Bool
  /// Whether EXIF, XMP and IPTC data are copied.
  package let metadata: Bool
  /// Whether the author and the rights in these data are copied. Not besides ``metadata``, which has them.
  package let copyright: Bool

  package static let none = KeptData()

  package init(profile: Bool = false, metadata: Bool = false, copyright: Bool = false) {
    self.profile = profile
    self.metadata = metadata
    self.copyright = copyright && !metadata
  }

  /// See ``Variant/canonicalText``; what is not the default.
  var canonicalTexts: [String] {
    guard self != .none else { return [] }
    return [
      profile ? "profile" : nil, metadata ? "metadata" : nil, copyright ? "copyright" : nil,
    ].compactMap(\.self)
  }
}
