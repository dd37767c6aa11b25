import ImgHTTP
import Synchronization

/// What the gateway tells of itself and of the cluster: whether it is ready, and its metrics.
final class Measurements: Sendable {
  private let answers = GatewayMetrics()
  private let pictures: PictureService
  private let probe: ClusterProbe
  private let showsReasons: Bool
  /// The server has its handler, which has this object.
  private struct ServerReference {
    weak var server: HTTPServer?
  }

  private let reference = Mutex(ServerReference())

  /// - Parameter showsReasons: whether clients may see why pictures cannot be made. A reason can have paths of
  ///   this machine.
  init(of pictures: PictureService, probe: ClusterProbe, showsReasons: Bool) {
    self.pictures = pictures
    self.probe = probe
    self.showsReasons = showsReasons
  }

  func measure(_ server: HTTPServer) {
    reference.withLock { $0.server = server }
  }

  func record(_ route: Route.Name, _ status: HTTPStatus, after duration: Duration) {
    answers.record(route, status, after: duration)
  }

  /// Whether pictures can be made now.
  func readiness() -> HTTPAnswer {
    .later { [probe, showsReasons] in
      guard let reason = await probe.reasonAgainstReadiness() else { return .text("ready\n") }
      return .text(showsReasons ? "\(reason)\n" : "not ready\n", .serviceUnavailable)
    }
  }

  /// All metrics.
  func text() -> HTTPAnswer {
    .later { [self] in
      var text = MetricsText()
      answers.add(to: &text)
      pictures.counts.add(to: &text)
      addLoads(to: &text)
      if let statistics = reference.withLock({ $0.server })?.statistics {
        add(statistics, to: &text)
      }
      await probe.add(to: &text)
      return .text(text.text, type: MetricsText.mediaType)
    }
  }

  private func addLoads(to text: inout MetricsText) {
    text.add(
      "imgctl_gateway_loads", .gauge, Double(pictures.loads.count),
      help: "Pictures that load for requests.")
    text.add(
      "imgctl_gateway_loads_limit", .gauge, Double(pictures.loads.maximum),
      help: "The maximum number of pictures that load for requests.")
  }

  private func add(_ statistics: HTTPServer.Statistics, to text: inout MetricsText) {
    text.add(
      "imgctl_gateway_connections", .gauge, Double(statistics.openConnections),
      help: "Open connections.")
    text.add(
      "imgctl_gateway_connections_total", .counter, Double(statistics.acceptedConnections),
      help: "Connections that were accepted.")
    text.add(
      "imgctl_gateway_refused_connections_total", .counter,
      Double(statistics.refusedConnections),
      help: "Connections that were closed because their address had too many.")
    text.add(
      "imgctl_gateway_sent_bytes_total", .counter, Double(statistics.sentBytes),
      help: "Bytes of bodies, counted when their answers begin.")
    text.add(
      "imgctl_gateway_streams", .gauge, Double(statistics.streams), help: "Event streams.")
  }
}
