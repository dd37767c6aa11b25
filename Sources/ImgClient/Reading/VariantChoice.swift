package import ImgModel
import ImgStore

/// The variant that a command delivers, and the variants under which the store may have it.
package struct VariantChoice: Hashable, Sendable {
  /// The source of the requested format.
  package enum FormatSource: Sendable {
    case option
    /// A thumbnail whose format was chosen by transparency also serves if it has this format,
    /// because its bytes are the same.
    case fileName
    case nothing
  }

  package let variant: Variant
  /// Whether the thumbnail of a damaged picture serves.
  package let isLenient: Bool
  private let formatSource: FormatSource

  package init(variant: Variant, isLenient: Bool, formatSource: FormatSource) {
    self.variant = variant
    self.isLenient = isLenient
    self.formatSource = formatSource
  }

  /// The variant to request; a stored one if possible.
  ///
  /// - Parameters:
  ///   - name: the name of the picture.
  ///   - policy: must accept the stored thumbnail at `now`.
  ///   - reader: `nil` if there is no store.
  func resolved(
    for name: PictureName, _ policy: CachePolicy, at now: WallTime, in reader: StoreReader?
  ) throws(StoreError) -> Variant {
    guard formatSource == .fileName, let reader,
      let byTransparency = variant.encoded(as: .auto)
    else { return variant }
    let found = try reader.facts(of: name, as: [variant, byTransparency], isLenient: isLenient)
    guard found[0] == nil, let other = found[1],
      Variant.Format(other.thumbnail.format) == variant.format, policy.accepts(other.terms, at: now)
    else { return variant }
    return byTransparency
  }

  /// The stored variants of the picture in this size, for a command that makes none.
  ///
  /// - Returns: the variant to deliver, `nil` if no stored one serves; and the stored formats. Any
  ///   format serves if none is requested.
  func stored(
    of name: PictureName, in reader: StoreReader
  ) throws(StoreError) -> (variant: Variant?, formats: [ImageFormat]) {
    let others = Variant.Format.allCases.filter { $0 != variant.format }
    let variants = [variant] + others.compactMap(variant.encoded)
    let facts = try reader.facts(of: name, as: variants, isLenient: isLenient)
    let found = zip(variants, facts).compactMap { variant, facts in
      facts.map { (variant: variant, format: $0.thumbnail.format) }
    }
    let delivered = found.first { $0.variant == variant || serves($0.format) }
    return (delivered?.variant, found.map(\.format))
  }

  private func serves(_ format: ImageFormat) -> Bool {
    switch formatSource {
    case .option: false
    case .fileName: Variant.Format(format) == variant.format
    case .nothing: true
    }
  }
}
