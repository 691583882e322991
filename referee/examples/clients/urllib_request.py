from calls import calls, is_set, key, url
from urllib.request import Request, urlopen
def get(path): urlopen(url + path, timeout=30).read()
def post(path): urlopen(Request(url + path, b'{}', {'Content-Type': 'application/json'}), timeout=30).read()

calls(get, post)
