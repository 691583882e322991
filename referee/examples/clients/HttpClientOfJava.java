import java.net.URI; import java.net.http.*;
class HttpClientOfJava {
  static final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  static void send(HttpRequest request) throws Exception {
    if (client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode() >= 400) System.exit(1);
  }
  static void get(String path) throws Exception { send(HttpRequest.newBuilder(URI.create(System.getenv("REFEREE_URL") + path)).build()); }
  static void post(String path) throws Exception {
    send(HttpRequest.newBuilder(URI.create(System.getenv("REFEREE_URL") + path)).POST(HttpRequest.BodyPublishers.ofString("{}")).build());
  }
  public static void main(String[] args) throws Exception { get("/pets"); post("/pets"); get("/orders"); }
}
