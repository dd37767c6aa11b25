import ImgClient
import ImgModel
import ImgStore

/// The thumbnail that a command delivers, and the variants under which the store may have it.
struct VariantChoice: Hashable, Sendable {
  /// What asks for the format.
  enum FormatSource {
    case option
    /// Then a thumbnail whose format was chosen by transparency serves as well, if it has that
    /// format: its bytes are the same.
    case fileName
    case nothing
  }

  let variant: Variant
  let formatSource: FormatSource

  /// The variant to request: the one that the store has, if it has one.
  ///
  /// - Parameters:
  ///   - name: of the picture.
  ///   - policy: under which a stored thumbnail must be usable at `now`.
  ///   - reader: `nil` where there is no store.
  func resolved(
    for name: PictureName, _ policy: CachePolicy, at now: WallTime, in reader: StoreReader?
  ) throws(StoreError) -> Variant {
    guard formatSource == .fileName, let reader else { return variant }
    let byTransparency = variant.encoded(as: .auto)
    let found = try reader.facts(of: name, as: [variant, byTransparency])
    guard found[0] == nil, let other = found[1],
      Variant.Format(other.thumbnail.format) == variant.format, policy.accepts(other.terms, at: now)
    else { return variant }
    return byTransparency
  }

  /// What the store has of the picture in this size, where nothing is made.
  ///
  /// - Returns: the variant to deliver, `nil` where the store has none that serves; and the formats
  ///   that it has. Where nothing asks for a format, each serves.
  func stored(
    of name: PictureName, in reader: StoreReader
  ) throws(StoreError) -> (variant: Variant?, formats: [ImageFormat]) {
    let others = Variant.Format.allCases.filter { $0 != variant.format }
    let variants = [variant] + others.map(variant.encoded)
    let facts = try reader.facts(of: name, as: variants)
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
