/// A row of the table that shows imgctl beside its peers and limits.
enum PeerRow: String, CaseIterable, Encodable {
  case small, large, formats, costs, hits, latency, quality, transfers, facts, sizes, animations

  var title: String {
    switch self {
    case .small: "small photographs"
    case .large: "large photographs"
    case .formats: "other formats"
    case .costs: "cost of a picture"
    case .hits: "hits"
    case .latency: "latency under load"
    case .quality: "quality"
    case .transfers: "transfers and scale"
    case .facts: "facts of a list"
    case .sizes: "several sizes"
    case .animations: "animations"
    }
  }

  /// - Parameter names: with commas between them, or `all`.
  static func rows(named names: String) throws(BenchError) -> [PeerRow] {
    guard names != "all" else { return allCases }
    var rows: [PeerRow] = []
    for name in names.split(separator: ",") {
      guard let row = PeerRow(rawValue: String(name)) else {
        let known = allCases.map(\.rawValue).joined(separator: ", ")
        throw BenchError("--peers: \(name) is not known; the rows are \(known)")
      }
      rows.append(row)
    }
    return rows
  }
}
