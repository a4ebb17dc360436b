import { test } from 'tap'
import { parseEndpoint } from '../../src/registration/endpoint.ts'

const node = '7YkHmxw8eXp4pQqJ2m5h8Q1yq3b1pVQ9m6n5b4v3c2x1'
const parse = (text: string) => parseEndpoint(text, node, 'gw.test')

test('an endpoint is the tunnel of the node, or an address with https', async (t) => {
  t.strictSame(parse(`overlay://${node}`), { kind: 'tunnel' })
  for (const text of [
    'https://node.example.net',
    'https://node.example.net:8443/',
    'https://[2606:4700::1]:443',
  ]) {
    const endpoint = parse(text)
    t.equal(endpoint.kind === 'address' && endpoint.url.origin, new URL(text).origin)
  }
})

test('the tunnel of another node is forbidden', async (t) => {
  for (const text of [
    'overlay://8YkHmxw8eXp4pQqJ2m5h8Q1yq3b1pVQ9m6n5b4v3c2x1',
    `overlay://${node.toLowerCase()}`,
    `overlay://${node}/`,
    `overlay://${node}:8090`,
    'overlay://',
  ])
    t.throws(() => parse(text), { code: 'FORBIDDEN', message: /names the node that signs/ }, text)
})

test('other endpoints are refused, with what to do', async (t) => {
  for (const [text, message] of [
    ['http://node.example.net:4200', /needs https, .*overlay:\/\//],
    ['https://node.example.net/path', /without a path/],
    ['https://node.example.net?query', /without a path/],
    ['https://node.example.net/#', /without a path/],
    ['https://user@node.example.net', /without a path/],
    ['https://user:secret@node.example.net', /without a path/],
    ['https:node.example.net', /without a path/],
    ['https:\\\\node.example.net', /without a path/],
    ['https://gw.test', /not be a name of this gateway/],
    ['https://GW.test:8443', /not be a name of this gateway/],
    ['https://me.gw.test', /not be a name of this gateway/],
    ['https://me.gw.test.', /not be a name of this gateway/],
    ['ftp://node.example.net', /must be overlay:/],
    ['file:///etc/passwd', /must be overlay:/],
    ['node.example.net:443', /must be overlay:/],
    ['nothing', /must be overlay:/],
    ['https://', /must be overlay:/],
  ] as const)
    t.throws(() => parse(text), { code: 'VALIDATION_ERROR', message }, text)
})
