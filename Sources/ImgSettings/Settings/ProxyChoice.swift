package import ImgModel

/// What `--proxy` says.
package enum ProxyChoice: Hashable, Sendable {
  /// No proxy, whatever the environment names.
  case none
  case proxy(ProxyURL)

  private static let noneText = "none"

  init(parsing text: String) throws(InvalidValue) {
    if text == Self.noneText {
      self = .none
      return
    }
    // "off" and "proxy" are rather meant as words than as names of hosts.
    guard text.contains(where: { !$0.isLetter && !$0.isNumber && $0 != "-" }) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) has no port; write the proxy as http://\(text):3128, or \"none\" for no "
          + "proxy")
    }
    self = .proxy(try ProxyURL(checking: text))
  }

  package var text: String {
    switch self {
    case .none: Self.noneText
    case .proxy(let proxy): proxy.text
    }
  }

  /// The choice for people.
  var withoutCredentials: ProxyChoice {
    switch self {
    case .none: .none
    case .proxy(let proxy): .proxy(proxy.withoutCredentials)
    }
  }
}

extension ProxyURL {
  fileprivate init(checking text: String) throws(InvalidValue) {
    do throws(InvalidProxy) {
      try self.init(parsing: text)
    } catch {
      throw InvalidValue(error.description)
    }
  }
}

extension ProxySettings {
  /// The variables that name proxies, in the order in which curl(1) reads them. It does not read
  /// HTTP_PROXY: a client of a CGI program sets that by the header field Proxy (RFC 3875 section
  /// 4.1.18).
  private static let httpVariables = ["http_proxy"] + allVariables
  private static let httpsVariables = ["https_proxy", "HTTPS_PROXY"] + allVariables
  private static let allVariables = ["all_proxy", "ALL_PROXY"]
  private static let directVariables = ["no_proxy", "NO_PROXY"]

  /// The variables from which a process reads these settings, and no others, whatever its environment had
  /// before. An empty one is as if it were not set.
  var environment: [String: String] {
    let names = Self.httpVariables + Self.httpsVariables + Self.directVariables
    var variables = Dictionary(names.map { ($0, "") }) { first, _ in first }
    variables["http_proxy"] = http?.text ?? ""
    variables["https_proxy"] = https?.text ?? ""
    variables["no_proxy"] = directHosts.joined(separator: ",")
    variables[Setting.proxy.environmentVariable] = isEmpty ? ProxyChoice.none.text : ""
    return variables
  }

  /// All variables that may hold the password of a proxy.
  package static let variables =
    [Setting.proxy.environmentVariable] + httpVariables + httpsVariables

  /// The proxies of `--proxy`, else those of the environment. `NO_PROXY` counts for both.
  ///
  /// - Parameter kept: the hosts that are asked directly if the environment names none.
  init(
    _ choice: ProxyChoice?, environment: [String: String], keptDirectHosts kept: [String] = []
  ) throws(UsageError) {
    if case .some(.none) = choice {
      self = .none
      return
    }
    var proxies: (http: ProxyURL?, https: ProxyURL?)
    if case .proxy(let proxy) = choice {
      proxies = (proxy, proxy)
    } else {
      proxies = (
        try Self.proxy(in: environment, Self.httpVariables),
        try Self.proxy(in: environment, Self.httpsVariables)
      )
    }
    self.init(
      http: proxies.http, https: proxies.https,
      directHosts: try Self.directHosts(in: environment) ?? kept)
  }

  /// The first of the variables that is set and not empty.
  private static func given(
    _ variables: [String], in environment: [String: String]
  ) -> (name: String, value: String)? {
    variables.lazy
      .compactMap { name in environment[name].map { (name: name, value: $0) } }
      .first { !$0.value.isEmpty }
  }

  private static func proxy(
    in environment: [String: String], _ variables: [String]
  ) throws(UsageError) -> ProxyURL? {
    guard let (name, value) = given(variables, in: environment) else { return nil }
    do throws(InvalidValue) {
      return try ProxyURL(checking: value)
    } catch {
      let hint = "\(Setting.proxy.environmentVariable)=none ignores the variable"
      throw UsageError("\(name): \(error.reason); \(hint)")
    }
  }

  /// `nil` if no variable names any.
  private static func directHosts(
    in environment: [String: String]
  ) throws(UsageError) -> [String]? {
    guard let (name, value) = given(directVariables, in: environment) else { return nil }
    let hosts = value.split { $0 == "," || $0.isWhitespace }.map(String.init)
    guard hosts.count <= maximumDirectHostCount else {
      throw UsageError("\(name): at most \(maximumDirectHostCount) hosts")
    }
    return hosts
  }

  /// The settings for people; the same for the same hosts in another order.
  package var texts: [String] {
    let proxies = withoutCredentials
    let urls =
      proxies.http == proxies.https
      ? [proxies.http?.text]
      : [
        proxies.http.map { "\($0.text) for http" }, proxies.https.map { "\($0.text) for https" },
      ]
    let texts = urls.compactMap(\.self)
    guard !texts.isEmpty, !directHosts.isEmpty else { return texts }
    return texts + [Self.directHostsPrefix + Set(directHosts).sorted().joined(separator: ",")]
  }

  /// Before the hosts that are asked directly, as a variable names them: there is no flag.
  static let directHostsPrefix = "NO_PROXY="
}

extension ProxyChoice {
  /// The texts of a kept choice: the proxy, and the hosts that are asked without it.
  func keptTexts(with directHosts: [String]) -> [String] {
    self == .none ? [text] : [text] + directHosts
  }
}

extension Settings {
  /// What is asked for, and what it amounts to.
  var proxy: (asked: ProxyChoice?, inUse: ProxySettings) {
    get { (proxyChoice, proxies) }
    set { proxyChoice = newValue.asked }
  }
}
