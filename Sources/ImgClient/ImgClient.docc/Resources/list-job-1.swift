import ImgClient

var urls: [String] = []
while let url = readLine() { urls.append(url) }

let client = try ImageClient()
let id = try await client.jobs.submit(urls, as: ImageJobRequest(size: 128))
print("job \(id)")
