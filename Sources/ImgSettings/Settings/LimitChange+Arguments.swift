package import ImgModel

extension LimitChange {
  /// The options of a command that changes the limits of a running coordinator.
  package static let options = Setting.changeable.map(\.changeOption)

  /// The limits on the command line. The others keep their values; the environment counts only at
  /// the next start.
  ///
  /// - Parameter arguments: the arguments of a command that lists ``options``.
  package init(_ arguments: ArgumentReader) throws(UsageError) {
    func given<Value>(
      _ setting: Setting, _ limit: KeyPath<Limits, Value>
    ) throws(UsageError) -> Value? {
      guard let texts = arguments.texts(of: setting.changeOption) else { return nil }
      var settings = Settings(socketPath: "", dataDirectory: "")
      try setting.put(texts, from: setting.changeOption.flag, into: &settings)
      return settings.limits[keyPath: limit]
    }
    self.init(
      transfers: try given(.transfers, \.transfers),
      transfersPerHost: try given(.transfersPerHost, \.transfersPerHost),
      hostRatePerMinute: try given(.ratePerHost, \.hostRatePerMinute),
      defaultExpiry: try given(.defaultExpiry, \.defaultExpiry))
  }
}
