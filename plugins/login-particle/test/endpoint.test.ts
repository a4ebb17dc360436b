import { test } from 'tap'
import { particleEndpoint } from '../src/endpoint.ts'

const read = (text: string) => particleEndpoint(text, 'login-particle.baseURL').href

test('An https address may have any host, an http address only this machine', async (t) => {
  for (const url of [
    'https://api.particle.network/server/rpc',
    'http://127.0.0.1:8080/rpc',
    'http://127.8.0.1/rpc',
    'http://localhost/rpc',
    'http://[::1]:81/rpc',
  ]) {
    t.equal(read(url), url)
  }
  for (const url of [
    'http://api.particle.network/server/rpc',
    'http://127.0.0.1.example.org/',
    'http://localhost.example.org/',
    'http://particle.localhost/',
    'http://10.0.0.1/',
  ]) {
    t.throws(() => read(url), /^login-particle\.baseURL must be an https address: over http/, url)
  }
})

test('An invalid address is refused, and the error does not repeat it', async (t) => {
  for (const url of ['', 'api.particle.network', 'ftp://api.particle.network/', 'https://']) {
    t.throws(() => read(url), { message: /^login-particle\.baseURL must be an https address, such as/ }, url)
  }
  t.throws(() => read('https://project:s3cret@api.particle.network/'), {
    message:
      'login-particle.baseURL must not carry a user or password. Put them into projectId and serverKey.',
  })
})
