import Glibc
import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// A coordinator that is there and says nothing.
@Suite(.timeLimit(.minutes(2)))
struct SilentCoordinatorTests {
  @Test func `what needs the coordinator has the time of a request, and no more`() async throws {
    let fixture = try GatewayFixture(["--request-timeout", "1s"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let job = try fixture.cluster.submit([fixture.origin.baseURL + "/a"])
    _ = try await fixture.gateway.response("/api/jobs/\(job)/events")
    let coordinator = try fixture.cluster.runningCoordinator()
    coordinator.signal(SIGSTOP)
    defer { coordinator.signal(SIGCONT) }
    for target in [
      "/id/\(job)-0", "/id/\(job)-0/40/30", "/id/\(job)-0/info?exif", "/v2/list?job=\(job)",
      "/api/jobs", "/api/jobs/\(job)", "/api/jobs/\(job)/events",
    ] {
      let response = try await fixture.gateway.response(target)
      #expect(response.status == 504, "\(target)")
      #expect(try response.failureCode() == "timeout", "\(target)")
    }
  }
}
