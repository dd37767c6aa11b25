/// JSON, for messages and the journal. What is the default is left out.
extension Variant: Codable {
  private enum CodingKeys: String, CodingKey {
    case width, height, mode, crop
    case enlarges = "enlarge"
    case density
    case maximumPixelCount = "max_pixels"
    case keepsDrawingSize = "keep_drawing_size"
    case format, quality
    case frame
    case time = "at_ms"
    case isPoster = "poster"
    case isAnimated = "animated"
    case embeddedUse = "thumb"
    case isGrayscale = "grayscale"
    case blur, sharpen, radius, background
    case flatSharpen = "sharpen_flat"
    case edgeSharpen = "sharpen_edges"
    case keepsProfile = "keep_profile"
    case keepsMetadata = "keep_metadata"
    case keepsCopyright = "keep_copyright"
  }

  /// Decodes and validates with the checks of the initialiser.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      width: container.decode(Int.self, forKey: .width),
      height: container.decode(Int.self, forKey: .height),
      mode: container.decode(Mode.self, forKey: .mode),
      crop: Self.crop(in: container),
      enlarges: Self.flag(.enlarges, in: container),
      format: container.decode(Format.self, forKey: .format),
      quality: container.decode(Int.self, forKey: .quality),
      frames: Self.frames(in: container),
      embeddedUse: container.decodeIfPresent(EmbeddedUse.self, forKey: .embeddedUse) ?? .auto,
      effects: Effects(
        isGrayscale: Self.flag(.isGrayscale, in: container),
        blur: Self.text(.blur, in: container) ?? .zero,
        sharpen: Self.text(.sharpen, in: container) ?? .zero,
        sharpenAmounts: SharpenAmounts(
          flat: Self.text(.flatSharpen, in: container) ?? SharpenAmounts.standard.flat,
          edges: Self.text(.edgeSharpen, in: container) ?? SharpenAmounts.standard.edges),
        radius: container.decodeIfPresent(Int.self, forKey: .radius) ?? 0,
        background: Self.text(.background, in: container)),
      keptData: KeptData(
        profile: Self.flag(.keepsProfile, in: container),
        metadata: Self.flag(.keepsMetadata, in: container),
        copyright: Self.flag(.keepsCopyright, in: container)),
      sizing: Sizing(
        density: Self.text(.density, in: container) ?? .one,
        maximumPixelCount: container.decodeIfPresent(Int.self, forKey: .maximumPixelCount),
        keepsDrawingSize: Self.flag(.keepsDrawingSize, in: container)))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(width, forKey: .width)
    try container.encode(height, forKey: .height)
    try container.encode(mode, forKey: .mode)
    try container.encodeIfPresent(crop?.description, forKey: .crop)
    try Self.encode(enlarges, as: .enlarges, to: &container)
    if sizing != .standard { try encodeSizing(to: &container) }
    try container.encode(format, forKey: .format)
    try container.encode(quality, forKey: .quality)
    try encodeFrames(to: &container)
    if embeddedUse != .auto { try container.encode(embeddedUse, forKey: .embeddedUse) }
    try encodeEffects(to: &container)
    try Self.encode(keptData.profile, as: .keepsProfile, to: &container)
    try Self.encode(keptData.metadata, as: .keepsMetadata, to: &container)
    try Self.encode(keptData.copyright, as: .keepsCopyright, to: &container)
  }

  private func encodeSizing(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    if sizing.density != .one {
      try container.encode(sizing.density.description, forKey: .density)
    }
    try container.encodeIfPresent(sizing.maximumPixelCount, forKey: .maximumPixelCount)
    try Self.encode(sizing.keepsDrawingSize, as: .keepsDrawingSize, to: &container)
  }

  private func encodeFrames(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    switch frames {
    case .first: break
    case .number(let number): try container.encode(number, forKey: .frame)
    case .time(let milliseconds): try container.encode(milliseconds, forKey: .time)
    case .poster: try container.encode(true, forKey: .isPoster)
    case .all: try container.encode(true, forKey: .isAnimated)
    }
  }

  private func encodeEffects(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    try Self.encode(effects.isGrayscale, as: .isGrayscale, to: &container)
    if effects.blur != .zero { try container.encode(effects.blur.description, forKey: .blur) }
    if effects.sharpen != .zero {
      try container.encode(effects.sharpen.description, forKey: .sharpen)
    }
    if effects.sharpenAmounts != .standard {
      try container.encode(effects.sharpenAmounts.flat.description, forKey: .flatSharpen)
      try container.encode(effects.sharpenAmounts.edges.description, forKey: .edgeSharpen)
    }
    if effects.radius != 0 { try container.encode(effects.radius, forKey: .radius) }
    try container.encodeIfPresent(effects.background?.description, forKey: .background)
  }

  // MARK: - Values that may be left out

  private static func flag(
    _ key: CodingKeys, in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Bool {
    try container.decodeIfPresent(Bool.self, forKey: key) ?? false
  }

  private static func encode(
    _ flag: Bool, as key: CodingKeys, to container: inout KeyedEncodingContainer<CodingKeys>
  ) throws {
    if flag { try container.encode(true, forKey: key) }
  }

  private static func text<Value: LosslessStringConvertible>(
    _ key: CodingKeys, in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Value? {
    guard let text = try container.decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let value = Value(text) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: container, debugDescription: "\(text) is no \(key.rawValue)")
    }
    return value
  }

  /// Earlier journals have a Boolean.
  private static func crop(in container: KeyedDecodingContainer<CodingKeys>) throws -> Crop? {
    if let isCropped = try? container.decode(Bool.self, forKey: .crop) {
      return isCropped ? .centre : nil
    }
    return try text(.crop, in: container)
  }

  private static func frames(
    in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> FrameSelection {
    let found: [FrameSelection?] = [
      try container.decodeIfPresent(Int.self, forKey: .frame).map { .number($0) },
      try container.decodeIfPresent(Int.self, forKey: .time).map { .time($0) },
      try flag(.isPoster, in: container) ? .poster : nil,
      try flag(.isAnimated, in: container) ? .all : nil,
    ]
    let selections = found.compactMap(\.self)
    guard selections.count <= 1 else {
      throw DecodingError.dataCorruptedError(
        forKey: .frame, in: container, debugDescription: "a variant selects frames in one way")
    }
    return selections.first ?? .first
  }
}
