import ImgModel

/// The settings of the gateway. A value of this type is complete and in range.
package struct GatewaySettings: Sendable {
  package var listen = ListenAddress.standard
  /// A file with keys and salts; `nil` for no signatures.
  package var keyFile: String?
  /// The bytes of a signature that count.
  package var signatureByteCount = 32
  package var allowsUnsigned = false
  /// The patterns of the origins whose pictures are served; all if there is none.
  package var allowedOrigins: [String] = []
  /// `NAME=OPTIONS`.
  package var presets: [String] = []
  /// `nil` if the address and the key file decide.
  package var hasGallery: Bool?
  /// In ASCII and lower case.
  package var hosts: [String] = []
  /// Whether pages of other sites get pictures; `nil` if the address, the key file and the names decide.
  package var hasCrossSite: Bool?
  /// The longest side in pixels that requests may ask for; `nil` for that of thumbnails.
  package var maximumSide: Int? = 4_096
  package var maximumLoads = 512
  package var requestTimeout = Duration.seconds(60)
  package var maximumConnections = 4_096
  /// The variables of imgproxy that are set, and that nothing reads.
  package var unreadVariables: [String] = []
  /// Whether a cluster in memory has the pictures.
  package var isMock = false
  /// Whether the address is printed as JSON.
  package var isJSON = false

  package init() {}

  /// The settings of the arguments and the environment.
  ///
  /// - Parameter arguments: read with ``GatewayInvocation/description``.
  /// - Throws: ``UsageError`` that names the flag or variable at fault.
  package init(
    _ arguments: ArgumentReader, environment: [String: String]
  ) throws(UsageError) {
    func given(_ option: OptionDescription) -> GivenTexts? {
      GivenTexts(of: option, in: arguments, environment)
    }
    typealias Options = GatewayOptions
    if let texts = given(Options.listen) { listen = try texts.value(ListenAddress.init(parsing:)) }
    keyFile = given(Options.keyFile)?.texts.last
    if let texts = given(Options.signatureSize) {
      signatureByteCount = try texts.value(Self.count(in: 8...32))
    }
    if let texts = given(Options.allowUnsigned) { allowsUnsigned = try texts.value(Self.isOn) }
    allowedOrigins = given(Options.allowOrigin)?.texts ?? []
    presets = given(Options.preset)?.texts ?? []
    hasGallery = try given(Options.gallery)?.value(YesOrNo.value(parsing:))
    hosts = try given(Options.host)?.values(HostText.host(parsing:)) ?? []
    hasCrossSite = try given(Options.crossSite)?.value(YesOrNo.value(parsing:))
    if let texts = given(Options.maximumSide) { maximumSide = try texts.value(Self.side) }
    if let texts = given(Options.requests) {
      maximumLoads = try texts.value(Self.count(in: 1...65_536))
    }
    if let texts = given(Options.requestTimeout) {
      requestTimeout = try texts.value { (text) throws(InvalidValue) in
        try Duration(parsing: text, in: .milliseconds(1)...(.seconds(86_400)))
      }
    }
    if let texts = given(Options.mock) { isMock = try texts.value(Self.isOn) }
    isJSON = arguments.contains(GatewayInvocation.json)
    if let texts = given(Options.connections) {
      maximumConnections = try texts.value(Self.count(in: 1...65_536))
    }
    unreadVariables = environment.filter { $0.key.hasPrefix("IMGPROXY_") && !$0.value.isEmpty }
      .keys.sorted()
    try requireObeyedKey()
  }

  /// Refuses to answer unsigned requests where imgproxy would want signatures.
  private func requireObeyedKey() throws(UsageError) {
    let secrets = unreadVariables.filter {
      ["IMGPROXY_KEY", "IMGPROXY_SALT", "IMGPROXY_SECRET"].contains($0)
    }
    guard let secret = secrets.first, keyFile == nil else { return }
    throw UsageError(
      "\(secret): variables of imgproxy are not read, and requests would need no signature; write the key "
        + "and the salt into a file, separated by a space, and give \(GatewayOptions.keyFile.flag) FILE, or "
        + "unset the variable")
  }

  /// Whether the gallery is there. It needs no signatures, so a key file turns it off.
  ///
  /// - Parameter isLocal: whether only this machine can connect.
  package func servesGallery(isLocal: Bool) -> Bool {
    hasGallery ?? (isLocal && keyFile == nil)
  }

  /// Whether pages of other sites get pictures. On a machine of a person any page could have pictures fetched, and
  /// learn what is stored. A key or a name shows that the gateway is there for others.
  ///
  /// - Parameter isLocal: whether only this machine can connect.
  package func servesOtherSites(isLocal: Bool) -> Bool {
    hasCrossSite ?? (!isLocal || keyFile != nil || !hosts.isEmpty)
  }

  /// Refuses to be an open proxy: a gateway that other machines reach, and that needs no signature.
  ///
  /// - Parameter isLocal: whether only this machine can connect.
  package func requireSafety(isLocal: Bool) throws(UsageError) {
    guard !isLocal, keyFile == nil, !allowsUnsigned else { return }
    throw UsageError(
      "--listen: other machines can connect to this address, and could have every picture fetched; "
        + "give --key-file, or --allow-unsigned if a proxy in front decides")
  }

  private static func count(
    in range: ClosedRange<Int64>
  ) -> (String) throws(InvalidValue) -> Int {
    { (text) throws(InvalidValue) in Int(try UnitScale.count.value(parsing: text, in: range)) }
  }

  /// - Returns: `nil` for no limit.
  private static func side(_ text: String) throws(InvalidValue) -> Int? {
    guard text != "none" else { return nil }
    return try count(in: 1...Int64(Variant.sideRange.upperBound))(text)
  }

  /// A flag has the empty text, its variable never.
  private static func isOn(_ text: String) throws(InvalidValue) -> Bool {
    text.isEmpty ? true : try YesOrNo.value(parsing: text)
  }
}
