import { isLoopback } from '@nodekeep/plugin-sdk/loopback'
import { test } from 'tap'

const hostname = (host: string) => new URL(`http://${host}`).hostname

test('names and addresses of the computer itself', async (t) => {
  const own = [
    'localhost',
    'LOCALHOST:80',
    'ada.localhost',
    '127.0.0.1',
    '127.255.1.2',
    '127.1',
    '2130706433',
  ]
  for (const host of [...own, '[::1]', '[0:0::0:1]:8080', '[::ffff:127.0.0.1]'])
    t.ok(isLoopback(hostname(host)), host)
})

test('all other names and addresses', async (t) => {
  const others = [
    'example.org',
    'notlocalhost',
    'localhost.example.org',
    '127.0.0.1.example.org',
    '128.0.0.1',
  ]
  for (const host of [...others, '10.127.0.0', '[::2]', '[::ffff:128.0.0.1]', '[fe80::1]'])
    t.notOk(isLoopback(hostname(host)), host)
})
