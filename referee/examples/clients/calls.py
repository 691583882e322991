"""Three calls (a list, a create, a list) at the address in REFEREE_URL; SETTING=yes asks for the setting of the table."""
import os
import sys
import uuid

url = os.environ['REFEREE_URL']
is_set = os.environ.get('SETTING') == 'yes'
key = {'Idempotency-Key': str(uuid.uuid4())} if is_set else {}


def calls(get, post):
    try:
        get('/pets')
        post('/pets')
        get('/orders')
    except Exception as error:
        sys.exit(str(error))
