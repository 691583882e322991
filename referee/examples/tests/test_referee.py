"""pytest with api-referee: needs requests, and API_URL with the address of an API that answers POST /things."""
import json
import os
import signal
import subprocess
import uuid
from contextlib import contextmanager
from urllib.request import urlopen

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry


@contextmanager
def referee(script):
    """Plays a script; yields the address for the client, and a function that gives the verdict by rule."""
    words = ['npx', 'api-referee', 'proxy', script, '--json', '--upstream', os.environ['API_URL']]
    # In a group of its own: npx does not pass signals on.
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            at = json.loads(process.stdout.readline())
            yield at['url'], lambda: verdict(at['verdicts'])
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def verdict(address):
    callers = json.load(urlopen(address))['callers']
    return {cell['rule']: cell['verdict'] for caller in callers for cell in caller['rules']}


def create(url, headers):
    session = requests.Session()
    session.mount('http://', HTTPAdapter(max_retries=Retry(3, backoff_factor=0.2, allowed_methods=None)))
    session.post(url + '/things', json={}, headers=headers, timeout=30).raise_for_status()


def test_a_create_whose_answer_is_lost_is_made_once():
    with referee('lost@POST') as (url, rules):
        create(url, {'Idempotency-Key': str(uuid.uuid4())})
        assert rules()['once'] == 'kept'


def test_without_a_key_it_is_made_twice():
    with referee('lost@POST') as (url, rules):
        create(url, {})
        assert rules()['once'] == 'broken'
