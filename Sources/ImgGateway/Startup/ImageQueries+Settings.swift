import ImgModel
import ImgSettings

extension ImageQueries {
  /// What the settings permit.
  ///
  /// - Parameter note: takes a line for the log.
  init(_ settings: GatewaySettings, note: (String) -> Void) throws(UsageError) {
    let keys = try settings.keyFile.map { path throws(UsageError) in
      try KeyFile.keys(in: path, note: note)
    }
    self.init(
      signatures: RequestSignatures(keys: keys ?? [], byteCount: settings.signatureByteCount),
      presets: try Self.read(GatewayOptions.preset) { () throws(InvalidValue) in
        try ImgproxyPresets(parsing: settings.presets)
      },
      origins: try Self.read(GatewayOptions.allowOrigin) { () throws(InvalidValue) in
        try OriginList(parsing: settings.allowedOrigins)
      },
      sides: SideLimit(settings.maximumSide))
  }

  private static func read<Value>(
    _ option: OptionDescription, _ body: () throws(InvalidValue) -> Value
  ) throws(UsageError) -> Value {
    do throws(InvalidValue) {
      return try body()
    } catch {
      throw UsageError(option.flag, error)
    }
  }
}
