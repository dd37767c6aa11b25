import ImgHTTP
import Testing

@testable import ImgGateway

@Suite(.timeLimit(.minutes(1))) struct MetricsTests {
  @Test func `metrics are in the text format of Prometheus`() async throws {
    let fixture = try GatewayFixture()
    fixture.serve("https://a.example/a.jpg")
    _ = await fixture.response(.get, "/image?url=https://a.example/a.jpg")
    _ = await fixture.response(.get, "/image?url=https://secret.example/none.jpg")
    let response = await fixture.response(.get, "/metrics")
    #expect(response.fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    let lines = response.text.split(separator: "\n")
    let help = lines.filter { $0.hasPrefix("# HELP ") }.compactMap {
      $0.split(separator: " ").dropFirst(2).first
    }
    let types = lines.filter { $0.hasPrefix("# TYPE ") }.compactMap {
      $0.split(separator: " ").dropFirst(2).first
    }
    #expect(help == types)
    #expect(Set(help).count == help.count)
    let sample = /[a-z_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? (-?[0-9.e+-]+|\+Inf)/
    for line in lines where !line.hasPrefix("#") {
      #expect(line.wholeMatch(of: sample) != nil, "\(line)")
    }
    #expect(lines.contains(#"imgctl_gateway_requests_total{route="image",status="200"} 1"#))
    #expect(lines.contains(#"imgctl_gateway_requests_total{route="image",status="404"} 1"#))
    #expect(!response.text.contains("secret"))
  }

  @Test func `pictures are counted by where they came from`() async throws {
    let fixture = try GatewayFixture()
    fixture.serve("https://a.example/a.jpg")
    let target = "/image?url=https://a.example/a.jpg"
    let first = await fixture.response(.get, target)
    #expect(first.fields["X-Imgctl-From"] == "network")
    for _ in 1...3 { _ = await fixture.response(.get, target) }
    let tag = try #require(first.fields["ETag"])
    let unchanged = await fixture.response(.get, target, ["If-None-Match": tag])
    #expect(unchanged.status == .notModified)
    let other = await fixture.response(.get, target, ["If-Match": "\"other\""])
    #expect(other.status == .preconditionFailed)
    _ = await fixture.response(.get, "/image?url=https://a.example/none.jpg")
    _ = await fixture.response(.get, "/image?url=https://a.example/none.jpg&default=blank")
    let lines = await fixture.response(.get, "/metrics").text.split(separator: "\n")
    #expect(lines.contains(#"imgctl_gateway_pictures_total{from="network"} 1"#))
    #expect(lines.contains(#"imgctl_gateway_pictures_total{from="store"} 4"#))
    #expect(lines.contains(#"imgctl_gateway_pictures_total{from="replacement"} 1"#))
  }

  @Test func `the buckets of a histogram add up`() {
    let histogram = DurationHistogram()
    for duration in [Duration.microseconds(100), .milliseconds(2), .seconds(90)] {
      histogram.record(duration)
    }
    var text = MetricsText()
    histogram.add(as: "h", labels: "image", to: &text)
    let lines = text.text.split(separator: "\n")
    #expect(lines.contains(#"h_bucket{route="image",le="0.0005"} 1"#))
    #expect(lines.contains(#"h_bucket{route="image",le="0.0025"} 2"#))
    #expect(lines.contains(#"h_bucket{route="image",le="60.0"} 2"#))
    #expect(lines.contains(#"h_bucket{route="image",le="+Inf"} 3"#))
    #expect(lines.contains(#"h_count{route="image"} 3"#))
    #expect(lines.contains(#"h_sum{route="image"} 90.0021"#))
  }
}
