// Has the thumbnails of a list made in the background, watches that, and names the failures.
//
// usage: list-job < URLS

import Glibc
import ImgClient

var urls: [String] = []
while let url = readLine() { urls.append(url) }

do {
  let client = try ImageClient()
  let id = try await client.jobs.submit(urls, as: ImageJobRequest(size: 128))
  print("job \(id)")
  for try await job in client.jobs.updates(of: id) {
    print("\(job.finished) of \(job.total), \(job.failed) failed")
  }
  for try await result in client.jobs.results(of: id, failedOnly: true) {
    print("\(result.url): \(result.error?.message ?? "")")
  }
} catch {
  print(error)
  exit(1)
}
