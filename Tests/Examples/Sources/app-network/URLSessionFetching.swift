import Foundation
import FoundationNetworking
import ImgClient

/// URLSession as the network layer of a program. The cluster decodes and stores what it fetches.
struct URLSessionFetching: ImageFetching {
  let session: URLSession

  func fetch(_ request: ImageFetch) async throws -> FetchedImage {
    do {
      let (body, response) = try await session.data(for: try URLRequest(request))
      return try FetchedImage(body, response, of: request)
    } catch let error as URLError {
      throw ImageError(error, of: request)
    }
  }
}

extension URLRequest {
  init(_ request: ImageFetch) throws {
    guard let url = URL(string: request.url) else {
      throw ImageError(code: .invalidURL, url: request.url, message: "Foundation reads no URL")
    }
    let seconds = request.timeout / .seconds(1)
    self.init(
      url: url,
      cachePolicy: request.cachePolicy == .reload
        ? .reloadIgnoringLocalCacheData : .useProtocolCachePolicy,
      timeoutInterval: seconds)
    for field in request.headers { addValue(field.value, forHTTPHeaderField: field.name) }
  }
}

extension FetchedImage {
  init(_ body: Data, _ response: URLResponse, of request: ImageFetch) throws {
    guard let response = response as? HTTPURLResponse else {
      throw ImageError(code: .invalidResponse, url: request.url, message: "the answer is not HTTP")
    }
    guard response.statusCode == 200 else {
      throw ImageError(
        code: .httpStatus, url: request.url, isRetryable: response.statusCode >= 500,
        httpStatus: response.statusCode, message: "the origin answered \(response.statusCode)")
    }
    let headers = response.allHeaderFields.compactMap { name, value -> ImageRequest.HeaderField? in
      guard let name = name as? String, let value = value as? String else { return nil }
      return ImageRequest.HeaderField(name, value)
    }
    self.init(bytes: Array(body), headers: headers)
  }
}

extension ImageError {
  init(_ error: URLError, of request: ImageFetch) {
    let code: ImageError.Code =
      switch error.code {
      case .timedOut: .timeout
      case .cancelled: .cancelled
      case .cannotFindHost: .dnsFailure
      case .secureConnectionFailed: .tlsFailure
      default: .connectFailure
      }
    self.init(
      code: code, url: request.url, isRetryable: code != .cancelled && code != .tlsFailure,
      message: "URLSession: \(error.localizedDescription)")
  }
}
