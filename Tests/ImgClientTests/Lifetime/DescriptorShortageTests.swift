import Glibc
import ImgClient
import ImgSystem
import TestCluster
import TestOrigin
import Testing

/// A process that can open nothing more.
@Suite(.timeLimit(.minutes(20)))
struct DescriptorShortageTests {
  /// What the process needs to know of the cluster and of its origin.
  private struct Places: Codable {
    let socketPath: String
    let dataDirectory: String
    let baseURL: String

    init(_ backend: RealBackend) {
      socketPath = unsafe backend.cluster.socketPath
      dataDirectory = unsafe backend.cluster.dataDirectory
      baseURL = backend.origin.baseURL
    }

    var configuration: ClusterConfiguration {
      ClusterConfiguration(
        socketPath: socketPath, dataDirectory: dataDirectory, startsCoordinator: false)
    }
  }

  /// Lets this process open nothing more, or so much as before.
  private static func setLimit(_ count: rlim_t?) throws -> rlim_t {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    try #require(unsafe getrlimit(resource, &limit) == 0)
    let before = limit.rlim_cur
    limit.rlim_cur = count ?? 0
    try #require(unsafe setrlimit(resource, &limit) == 0)
    return before
  }

  private static func error(of client: ImageClient, _ request: ImageRequest) async -> ImageError? {
    do throws(ImageError) {
      _ = try await client.image(for: request)
      return nil
    } catch {
      return error
    }
  }

  /// Another process runs out of descriptors, so that no other test does.
  @Test func `loads fail, hits do not, and loads go on when descriptors are there again`()
    async throws
  {
    let backend = try RealBackend()
    for name in ["stored", "a", "b"] { try backend.serve(name) }
    _ = try await backend.makeClient().image(for: backend.url("stored"), size: 256)
    let places = Places(backend)
    await #expect(processExitsWith: .success) { [places = places as Places] in
      let configuration = places.configuration
      let baseURL = places.baseURL
      #expect(try await eventually { ProcessUse().timerCount == ProcessUse.fullTimerCount })
      let client = ImageClient(
        transport: try ClusterTransport(configuration), memoryCache: nil)
      #expect(try await client.image(for: "\(baseURL)/stored", size: 256).origin == .store)
      let limit = try Self.setLimit(nil)
      for _ in 1...2 {
        let error = await Self.error(of: client, ImageRequest(url: "\(baseURL)/a"))
        #expect(error?.code == .disconnected)
        #expect(error?.isRetryable == true)
        #expect(error?.message.contains("open") == true, "\(String(describing: error))")
      }
      #expect(try await client.image(for: "\(baseURL)/stored", size: 256).origin == .store)
      let refused = #expect(throws: ImageError.self) { _ = try ImageClient(configuration) }
      #expect(refused?.code == .internal)
      _ = try Self.setLimit(limit)
      #expect(try await client.image(for: "\(baseURL)/a", size: 256).origin == .network)
      let other = try ImageClient(configuration)
      #expect(try await other.image(for: "\(baseURL)/b", size: 256).origin == .network)
    }
    #expect(backend.fetchCount(of: "a") == 1)
  }

  /// Another process runs out of descriptors, so that no other test does.
  @Test func `a client that began with few descriptors loads when more are there`() async throws {
    let backend = try RealBackend()
    let counts = 0...6
    for count in counts { try backend.serve("\(count)") }
    let places = Places(backend)
    await #expect(processExitsWith: .success) { [places = places as Places] in
      let configuration = places.configuration
      let baseURL = places.baseURL
      #expect(try await eventually { ProcessUse().timerCount == ProcessUse.fullTimerCount })
      var codes: [ImageError.Code?] = []
      for count in 0...6 {
        let limit = try Self.setLimit(64)
        var taken: [CInt] = []
        while case let copy = dup(0), copy >= 0 { taken.append(copy) }
        for descriptor in taken.suffix(count) { close(descriptor) }
        let client = try? ImageClient(configuration)
        if let client {
          codes.append(await Self.error(of: client, ImageRequest(url: "\(baseURL)/\(count)"))?.code)
        }
        for descriptor in taken.dropLast(count) { close(descriptor) }
        _ = try Self.setLimit(limit)
        guard let client else { continue }
        #expect(try await client.image(for: "\(baseURL)/\(count)", size: 256).width == 256)
      }
      #expect(codes.contains(.disconnected))
      #expect(codes.contains(nil))
    }
  }
}
