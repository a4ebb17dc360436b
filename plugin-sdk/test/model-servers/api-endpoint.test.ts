import { apiEndpoint } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

const open = { setting: 'ai-acme.url', example: 'https://api.acme.example/v1' }
const keyed = { ...open, secret: 'ai-acme.token' }

test('An address loses the slash at its end', async (t) => {
  t.equal(apiEndpoint('https://api.openai.com/v1', keyed), 'https://api.openai.com/v1')
  t.equal(apiEndpoint('https://openrouter.ai/api/v1//', keyed), 'https://openrouter.ai/api/v1')
  t.equal(apiEndpoint('HTTP://LocalHost:1234/v1/', keyed), 'http://localhost:1234/v1')
})

test('A key is sent over http only within this machine and a local network', async (t) => {
  const local = [
    ...['localhost', '127.0.0.1', '[::1]', '10.0.0.7', '192.168.1.5', '172.16.0.1', '172.31.9.9'],
    ...[
      '[fd12:3456::1]',
      '[fc00::1]',
      'vllm',
      'gpu.local',
      'gpu.lan',
      'gpu.home.arpa',
      'host.docker.internal',
    ],
  ]
  for (const host of local) t.doesNotThrow(() => apiEndpoint(`http://${host}:8000/v1`, keyed), host)
  const foreign = [
    'api.openai.com',
    '8.8.8.8',
    '172.32.0.1',
    '100.10.0.1',
    '[2001:db8::1]',
    // Leading zeros are omitted: these are in 00fd::/16 and 0fc0::/16.
    '[fd::1]',
    '[fc0::1]',
    '[::fd12:1]',
    'local.example.org',
  ]
  for (const host of foreign) {
    t.throws(() => apiEndpoint(`http://${host}/v1`, keyed), /^ai-acme\.url .*https.*ai-acme\.token/, host)
    t.doesNotThrow(() => apiEndpoint(`http://${host}/v1`, open), host)
    t.doesNotThrow(() => apiEndpoint(`https://${host}/v1`, keyed), host)
  }
})

test('An invalid address is refused, and the error does not repeat it', async (t) => {
  for (const wrong of ['', 'api.openai.com/v1', 'ftp://a.example/v1', 'file:///etc/passwd']) {
    t.throws(
      () => apiEndpoint(wrong, keyed),
      /^ai-acme\.url must be an address, such as "https:\/\/api\.acme\.example\/v1"/,
      wrong,
    )
  }
  for (const wrong of [
    'https://user:sesame@a.example/v1',
    'https://a.example/v1?key=sesame',
    'https://a.example/#sesame',
    'https://a.example/v1?',
    'https://a.example/v1#',
  ]) {
    t.throws(() => apiEndpoint(wrong, open), /without user, "\?" and "#"/, wrong)
    t.throws(() => apiEndpoint(wrong, open), { message: /^((?!sesame).)*$/ }, wrong)
  }
})
