/// The hosts that one party is likely to have: those below one registrable domain, as far as the name tells.
///
/// These are its last two labels, or three below a country's short second level, such as `co.uk`. A list of
/// all public suffixes would tell the customers of a platform apart. It would have to be kept up to date, and
/// all that depends on it is whose transfers and loads make room first. An address is a group by itself. A client
/// is none: behind a proxy many have one address, and the origin is what makes a transfer slow.
package enum HostGroup {
  private static let shortLabelMaximum = 3

  /// - Parameter host: see ``ImageURL/host``.
  package static func name(of host: String) -> String {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 2, let last = labels.last, !host.hasSuffix("]"),
      last.first?.isNumber == false
    else { return host }
    let isSecondLevel =
      last.count == 2 && labels[labels.count - 2].count <= shortLabelMaximum
    return labels.suffix(isSecondLevel ? 3 : 2).joined(separator: ".")
  }
}
