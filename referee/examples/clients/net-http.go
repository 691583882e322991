package main
import ("fmt"; "io"; "os"; "strings"; "net/http")
var url, isSet = os.Getenv("REFEREE_URL"), os.Getenv("SETTING") == "yes"
var _ = isSet
func send(method, path string) error {
  var body io.Reader
  if method == "POST" { body = strings.NewReader("{}") }
  request, _ := http.NewRequest(method, url + path, body)
  answer, err := http.DefaultClient.Do(request)
  if err != nil { return err }
  defer answer.Body.Close()
  if _, err := io.ReadAll(answer.Body); err != nil { return err }
  if answer.StatusCode >= 400 { return fmt.Errorf("%d", answer.StatusCode) }
  return nil
}
func main() {
  for _, call := range []func() error{ func() error { return send("GET", "/pets") }, func() error { return send("POST", "/pets") }, func() error { return send("GET", "/orders") } } {
    if err := call(); err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
  }
}
