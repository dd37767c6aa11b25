import Glibc
import ImgClient

var urls: [String] = []
while let url = readLine() { urls.append(url) }

do {
  let client = try ImageClient()
  let id = try await client.jobs.submit(urls, as: ImageJobRequest(size: 128))
  print("job \(id)")
} catch {
  print(error)
  exit(1)
}
