import ImgModel
import ImgSystem
import ImgWire
import Synchronization

/// An app's own network layer: it fetches pictures in the app's process, and the cluster decodes and stores them under
/// their URLs.
///
/// ```swift
/// struct MyNetwork: ImageFetching {
///   func fetch(_ request: ImageFetch) async throws -> FetchedImage {
///     let (bytes, headers) = try await myClient.get(request.url, timeout: request.timeout)
///     return FetchedImage(bytes: bytes, headers: headers)
///   }
/// }
/// let client = ImageClient(transport: try ClusterTransport(fetching: MyNetwork()))
/// ```
///
/// It is asked for a picture that the store lacks while no fetch of it is under way. All requests of all processes
/// that wait for the URL share its result, as they share a fetch of the cluster. Requests that respect robots.txt or X-Robots-Tag, as jobs do,
/// and those of a gateway that limits origins are fetched by the cluster: it cannot know whether another's fetch
/// respects that.
///
/// If it fails, that is the error of the load that asked. Other loads go on: by the network layer of another app that
/// waits, or by a fetch of the cluster. The same happens if this process ends.
public protocol ImageFetching: Sendable {
  /// Fetches a picture.
  ///
  /// The task is cancelled when its load has ended, be it by cancellation or because it took longer than
  /// ``ImageFetch/timeout``. What is returned later is dropped.
  ///
  /// - Throws: an ``ImageError`` to fail with it; any other error is ``ImageError/Code/connectFailure`` with its
  ///   description.
  func fetch(_ request: ImageFetch) async throws -> FetchedImage
}

/// What an ``ImageFetching`` is asked for.
public struct ImageFetch: Hashable, Sendable {
  /// An `http` or `https` URL, as the cluster normalizes it.
  public let url: String
  /// How the load uses caches. One with ``ImageRequest/CachePolicy/reload`` wants no cached answer.
  public let cachePolicy: ImageRequest.CachePolicy
  /// The fields that the load adds to requests to the origin. They are not for other origins.
  public let headers: [ImageRequest.HeaderField]
  /// How long the cluster waits for the picture.
  public let timeout: Duration

  /// A request, such as one for a test.
  public init(
    url: String, cachePolicy: ImageRequest.CachePolicy = .cacheElseLoad,
    headers: [ImageRequest.HeaderField] = [], timeout: Duration = .seconds(60)
  ) {
    self.url = url
    self.cachePolicy = cachePolicy
    self.headers = headers
    self.timeout = timeout
  }
}

/// A picture that an ``ImageFetching`` has fetched.
public struct FetchedImage: Hashable, Sendable {
  /// The body, without a content encoding.
  public let bytes: [UInt8]
  /// The fields of the response. Those that tell how long it may be used again count, such as `Cache-Control` and
  /// `ETag`; others may be there.
  public let headers: [ImageRequest.HeaderField]

  /// A picture, with what is known of its response.
  public init(bytes: [UInt8], headers: [ImageRequest.HeaderField] = []) {
    self.bytes = bytes
    self.headers = headers
  }
}

extension ImageFetching {
  /// Fetches a picture that the coordinator asked for.
  func bring(_ request: ImageFetch) async -> BroughtPicture {
    do {
      let fetched = try await fetch(request)
      return .fetched(
        FetchedPicture(byteCount: fetched.bytes.count, fields: fetched.cachingFields),
        try MemoryFile(containing: fetched.bytes).file)
    } catch let error as ImageError {
      return .failed(Failure(ofFetch: error))
    } catch {
      return .failed(
        Failure(
          stage: .fetch, code: .connectFailure, detail: "the app could not fetch it: \(error)"))
    }
  }
}

extension FetchedImage {
  /// What a cache reads (RFC 9111).
  private static let cachingNames: Set = [
    "age", "cache-control", "date", "etag", "expires", "last-modified", "vary",
  ]

  /// What is no field, or too long, is left out: then the origin is asked again earlier.
  fileprivate var cachingFields: HeaderFields {
    let fields = headers.filter { Self.cachingNames.contains($0.name.lowercased()) }
      .compactMap { try? HeaderField(name: $0.name, value: $0.value) }
    return (try? HeaderFields(fields)) ?? .none
  }
}

extension Failure {
  /// - Parameter error: of the app. One that would mean that the coordinator is leaving cannot be repeated.
  fileprivate init(ofFetch error: ImageError) {
    self.init(
      stage: .fetch, code: error.code, httpStatus: error.httpStatus,
      isRetryable: error.isRetryable && error.code != .cancelled, retryAt: error.retryTime,
      detail: error.message)
  }
}

/// What came of a fetch that the coordinator asked for.
enum BroughtPicture: Sendable {
  case fetched(FetchedPicture, PassedFile)
  case failed(Failure)
}

/// The fetches that coordinators ask for while one request waits, one after the other.
final class AskedFetches: Sendable {
  private enum State {
    case none
    case underWay(Task<Void, Never>)
    /// The request has ended.
    case ended
  }

  private let fetch: @Sendable (FetchWanted) async -> BroughtPicture
  private let commands: Mailbox<SessionCommand>
  private let state = Mutex(State.none)

  init(
    _ fetch: @escaping @Sendable (FetchWanted) async -> BroughtPicture,
    _ commands: Mailbox<SessionCommand>
  ) {
    self.fetch = fetch
    self.commands = commands
  }

  /// Begins each.
  var handler: @Sendable (SessionCall, RequestID, FetchWanted) -> Void {
    { [self] call, number, wanted in begin(wanted, for: call, number) }
  }

  private func begin(_ wanted: FetchWanted, for call: SessionCall, _ number: RequestID) {
    state.withLock { state in
      if case .ended = state { return }
      if case .underWay(let former) = state { former.cancel() }
      state = .underWay(
        Task { [fetch, commands] in
          let brought = await fetch(wanted)
          if !Task.isCancelled { commands.post(.bring(brought, call, number)) }
        })
    }
  }

  func end() {
    state.withLock { state in
      if case .underWay(let task) = state { task.cancel() }
      state = .ended
    }
  }
}
