package import ImgModel

/// The options of the gateway. Each has an environment variable, too.
package enum GatewayOptions {
  static let listen = OptionDescription(
    "--listen", "ADDRESS",
    help:
      "Where to listen: HOST:PORT with an IP address or localhost, which is 127.0.0.1, PORT alone, or "
      + "unix:PATH. An IPv6 address is in brackets, and port 0 is any free one. A service manager "
      + "may hand over a socket instead. Default: 127.0.0.1:8080.")
  static let keyFile = OptionDescription(
    "--key-file", "FILE",
    help: "Accept signed requests for pictures alone. Each line of the file has a key and a salt "
      + "in hexadecimal digits, separated by a space; a signature by any of them counts. A key has at least 8 "
      + "bytes. Only its owner and its group may be able to change it. Default: none.")
  /// For a program that signs.
  static let signingKeyFile = OptionDescription(
    keyFile.flag, "FILE",
    help: "The file of the gateway's \(keyFile.flag). The key and the salt of its first line sign.")
  static let signatureSize = OptionDescription(
    "--signature-size", "N",
    help: "How many bytes of a signature requests have, from 8 to 32. Default: 32.")
  package static let allowUnsigned = OptionDescription(
    "--allow-unsigned",
    help: "Listen for other machines without a key. Every client that can connect can then have "
      + "every picture fetched. Default: no.")
  package static let allowOrigin = OptionDescription(
    "--allow-origin", "PATTERN",
    help: "Accept pictures from this origin alone, such as https://*.example.org/photos/. "
      + "Repeatable; separated by commas in the variable. Default: all origins.",
    isRepeatable: true)
  package static let preset = OptionDescription(
    "--preset", "NAME=OPTIONS",
    help: "Options of imgproxy's paths under a name, such as small=rs:fit:64:64/q:60. The preset "
      + "named default applies to all of them. Repeatable; separated by commas in the variable.",
    isRepeatable: true)
  static let gallery = OptionDescription(
    "--gallery", "yes|no",
    help: "Show the gallery and the lists of pictures and jobs, which need no signatures. Default: "
      + "yes, but no with --key-file, and no where other machines can connect.")
  static let host = OptionDescription(
    "--host", "NAME",
    help:
      "Also answer requests for this host name. Without it, a gateway that only this machine can "
      + "reach, and one with a gallery, answer to localhost and addresses alone. Repeatable; separated by "
      + "commas in the variable.",
    isRepeatable: true)
  package static let crossSite = OptionDescription(
    "--cross-site", "yes|no",
    help:
      "Answer requests for pictures that pages of other sites make. Default: no where only this "
      + "machine can connect, unless --key-file or --host is given; yes elsewhere.")
  package static let keep = OptionDescription(
    "--keep", "WHAT",
    help:
      "What the store keeps of a picture that is loaded by its address: thumbnail, all (the picture as "
      + "received, too), or auto: the thumbnail and, for a while, an original that is not large. With an original, "
      + "other sizes need no further fetch. Default: auto.")
  static let maximumSide = OptionDescription(
    "--maximum-side", "N|none",
    help: "The longest side in pixels, after dpr, that requests may ask for. Others get status "
      + "422. A thumbnail with an open side has at most N² pixels, and a picture whose size no request names "
      + "is made to fit N×N. Default: 4096.")
  static let requests = OptionDescription(
    "--requests", "N",
    help: "The maximum number of pictures that load at the same time. Further requests get status "
      + "503. Default: 512.")
  static let requestTimeout = OptionDescription(
    "--request-timeout", "DURATION",
    help: "How long a request waits for its picture. Default: 60s.")
  static let connections = OptionDescription(
    "--connections", "N", help: "The maximum number of connections. Default: 4096.")

  static let mock = OptionDescription(
    "--mock",
    help: "Serve pictures of mock.example from memory, without a coordinator and without a "
      + "network, to try clients and the gallery. They are PNG files of one size, whatever a request "
      + "asks for. Default: no.")

  package static let all = [
    listen, keyFile, signatureSize, allowUnsigned, allowOrigin, preset, gallery, host,
    crossSite, keep, maximumSide, requests, requestTimeout, connections, mock,
  ]

  /// The options of a program that signs.
  package static let signing = [signingKeyFile, signatureSize]

  /// Where the cluster is.
  package static let places = ([Setting.socket] + Setting.directories + [.autostart]).map(\.option)
}

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
  /// What is kept of pictures: ``Keep/thumbnail``, ``Keep/auto`` or ``Keep/all``.
  package var keep = Keep.auto
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
    if let texts = given(Options.allowUnsigned) { allowsUnsigned = try texts.value(Self.isOn) }
    allowedOrigins = given(Options.allowOrigin)?.texts ?? []
    presets = given(Options.preset)?.texts ?? []
    hasGallery = try given(Options.gallery)?.value(YesOrNo.value(parsing:))
    hosts = try given(Options.host)?.values(HostText.host(parsing:)) ?? []
    hasCrossSite = try given(Options.crossSite)?.value(YesOrNo.value(parsing:))
    if let texts = given(Options.keep) {
      keep = try texts.value { (text) throws(InvalidValue) in
        try Keep(parsing: text, among: [.thumbnail, .auto, .all])
      }
    }
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
    try readSignatures(Options.keyFile, in: arguments, environment)
  }

  /// The settings of signatures alone, for a program that signs.
  ///
  /// - Parameter arguments: read with ``GatewayOptions/signing``.
  package init(
    signingBy arguments: ArgumentReader, environment: [String: String]
  ) throws(UsageError) {
    try readSignatures(GatewayOptions.signingKeyFile, in: arguments, environment)
    guard keyFile != nil else {
      throw UsageError(
        "\(GatewayOptions.keyFile.flag) is missing; give the file that the gateway has")
    }
  }

  private mutating func readSignatures(
    _ keyFileOption: OptionDescription, in arguments: ArgumentReader,
    _ environment: [String: String]
  ) throws(UsageError) {
    keyFile = GivenTexts(of: keyFileOption, in: arguments, environment)?.texts.last
    if let texts = GivenTexts(of: GatewayOptions.signatureSize, in: arguments, environment) {
      signatureByteCount = try texts.value(Self.count(in: 8...32))
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
    return try count(in: 1...Int64(ImageVariant.sideRange.upperBound))(text)
  }

  /// A flag has the empty text, its variable never.
  private static func isOn(_ text: String) throws(InvalidValue) -> Bool {
    text.isEmpty ? true : try YesOrNo.value(parsing: text)
  }
}

/// Where the gateway listens: `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/imgctl/gateway.sock`. `:8080` and
/// `8080` are ports of 127.0.0.1.
package struct ListenAddress: Hashable, Sendable {
  package enum Place: Hashable, Sendable {
    /// An IP address in its text form, and a port; 0 for any free one.
    case internet(host: String, port: UInt16)
    case unix(path: String)
  }

  package let place: Place

  package static let standard = ListenAddress(.internet(host: "127.0.0.1", port: 8080))

  package init(_ place: Place) {
    self.place = place
  }

  package init(parsing text: String) throws(InvalidValue) {
    let scheme = "unix:"
    if text.hasPrefix(scheme) {
      let path = String(text.dropFirst(scheme.count))
      guard path.hasPrefix("/"), path.utf8.count <= Settings.maximumSocketPathByteCount else {
        throw InvalidValue(
          "the path of a socket is absolute and has at most "
            + "\(Settings.maximumSocketPathByteCount) bytes, as in unix:/run/imgctl/gateway.sock")
      }
      place = .unix(path: path)
      return
    }
    if let port = UInt16(text.hasPrefix(":") ? text.dropFirst() : text[...]) {
      place = .internet(host: "127.0.0.1", port: port)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { throw Self.invalid(text) }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw Self.invalid(text)
    }
    place = .internet(host: host == "localhost" ? "127.0.0.1" : String(host), port: port)
    guard !host.isEmpty else { throw Self.invalid(text) }
  }

  private static func invalid(_ text: String) -> InvalidValue {
    InvalidValue(
      "\(Spelling.quoted(text)) is no address with a port, such as 127.0.0.1:8080, [::1]:8080 or "
        + "unix:/run/imgctl/gateway.sock")
  }
}
