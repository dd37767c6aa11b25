import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgSettings

@testable import ImgGateway

/// A gateway over a cluster in memory, asked without a server.
struct GatewayFixture {
  let cluster = InMemoryCluster()
  let gateway: Gateway

  init(isLocal: Bool = true, _ change: (inout GatewaySettings) -> Void = { _ in }) throws {
    var settings = GatewaySettings()
    change(&settings)
    gateway = try Gateway(cluster, settings: settings, isLocal: isLocal)
  }

  /// A picture of the origin, which has been stored for an hour and expires in an hour.
  func serve(_ url: String, bytes: [UInt8] = [1, 2, 3], type: ImageType = .jpeg) {
    cluster.serve(url, Self.image(bytes: bytes, type: type))
  }

  static func image(bytes: [UInt8], type: ImageType = .jpeg) -> LoadedImage {
    LoadedImage(
      bytes: bytes, type: type, width: 4, height: 2,
      source: LoadedImage.Source(type: .png, width: 40, height: 20, byteCount: 400),
      origin: .network)
  }

  /// The answer, whether it comes at once or later.
  func response(
    _ method: HTTPMethod = .get, _ target: String, _ fields: HTTPFields = [:]
  ) async -> HTTPResponse {
    switch gateway.answer(to: HTTPRequest(method, target, fields: fields)) {
    case .response(let response): response
    case .later(let body): await body()
    }
  }
}

extension HTTPResponse {
  /// The bytes of a body that is no stream.
  var bytes: [UInt8] {
    if case .bytes(let body) = body { body.bytes } else { [] }
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }
}
