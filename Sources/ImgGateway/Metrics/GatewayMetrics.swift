import ImgHTTP
import Synchronization

/// What the gateway has answered, by route and status.
final class GatewayMetrics: Sendable {
  private struct Answers: Hashable {
    let route: Route.Name
    let status: HTTPStatus
  }

  private let answers = Mutex<[Answers: UInt64]>([:])
  private let durations = Dictionary(
    uniqueKeysWithValues: Route.Name.allCases.map { ($0, DurationHistogram()) })

  func record(_ route: Route.Name, _ status: HTTPStatus, after duration: Duration) {
    answers.withLock { $0[Answers(route: route, status: status), default: 0] += 1 }
    durations[route]?.record(duration)
  }

  func add(to text: inout MetricsText) {
    let counts = answers.withLock { $0 }
    let requests = "imgctl_gateway_requests_total"
    text.begin(requests, .counter, help: "Answers of the gateway.")
    let sorted = counts.sorted {
      ($0.key.route.rawValue, $0.key.status.rawValue) < (
        $1.key.route.rawValue, $1.key.status.rawValue
      )
    }
    for (key, count) in sorted {
      text.add(
        requests, ["route": key.route.rawValue, "status": "\(key.status.rawValue)"], Double(count))
    }
    let seconds = "imgctl_gateway_request_seconds"
    text.begin(
      seconds, .histogram, help: "The time from a whole request to the start of its answer.")
    for route in Route.Name.allCases {
      durations[route]?.add(as: seconds, labels: route.rawValue, to: &text)
    }
  }
}
