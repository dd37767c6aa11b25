import Testing

@testable import ImgCoordinator

struct WorkerEnvironmentTests {
  @Test func `a worker inherits variables that its libraries read, and no others`() {
    let variables = WorkerEnvironment.variables(from: [
      "LANG": "de_DE.UTF-8", "RES_OPTIONS": "timeout:1", "SSL_CERT_DIR": "/certificates",
      "AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/home/ada", "IMGCTL_READY_FD": "3",
      "LD_PRELOAD": "/tmp/other.so", "NOTIFY_SOCKET": "/run/systemd/notify",
      "SSH_AUTH_SOCK": "/tmp/agent", "SSLKEYLOGFILE": "/tmp/keys", "https_proxy": "http://proxy",
      "SWIFT_BACKTRACE": "enable=yes",
    ])
    #expect(
      variables == [
        "LANG": "de_DE.UTF-8", "RES_OPTIONS": "timeout:1", "SSL_CERT_DIR": "/certificates",
        "SWIFT_BACKTRACE": "enable=no",
      ])
  }
}
