import ImgClient
import ImgStore
import ImgWire

/// The thumbnail that a command delivers, and the variants under which the store may have it.
struct VariantChoice: Hashable, Sendable {
  let variant: Variant
  /// Whether only the name of the output file asks for the format. Then a thumbnail whose format was
  /// chosen by transparency serves as well, if it has that format: its bytes are the same.
  let isFormatImplied: Bool

  /// The variant to ask for: the one that the store has, if it has one.
  ///
  /// - Parameters:
  ///   - name: of the picture.
  ///   - policy: under which a stored thumbnail must be usable at `now`.
  ///   - reader: `nil` where there is no store.
  func resolved(
    for name: PictureName, _ policy: CachePolicy, at now: WallTime, in reader: StoreReader?
  ) throws(StoreError) -> Variant {
    guard isFormatImplied, let reader else { return variant }
    let byTransparency = variant.encoded(as: .auto)
    let found = try reader.facts(of: name, as: [variant, byTransparency])
    guard found[0] == nil, let other = found[1],
      Variant.Format(other.thumbnail.format) == variant.format, policy.accepts(other.terms, at: now)
    else { return variant }
    return byTransparency
  }
}
