import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { freePort } from '../free-ports.ts'
import { firstAnswer } from './first-answer.ts'
import { loadHttp } from './http-load.ts'
import { cpuSeconds, residentMB, startServer } from './process.ts'
import { ResponseCounter } from './response-counter.ts'

const helloServer = fileURLToPath(new URL('fixtures/hello-server.ts', import.meta.url))

test('the load counts what the server answers', async (t) => {
  const server = await startServer(helloServer)
  t.teardown(() => server.stop())
  const before = await cpuSeconds(server.pid)
  const load = await loadHttp({
    url: new URL('/hello', server.url),
    connections: 4,
    pipelining: 2,
    seconds: 0.5,
  })
  const counted = Number(await (await fetch(new URL('/count', server.url))).text())
  t.ok(load.requests > 100, `${load.requests} requests`)
  t.ok(counted > load.requests, 'the server saw them all, and those before')
  t.ok(load.p50Ms > 0 && load.p99Ms >= load.p50Ms)
  t.ok((await cpuSeconds(server.pid)) > before)
  t.ok((await residentMB(server.pid)) > 10)
})

test('a load that is not answered well fails', async (t) => {
  const server = await startServer(helloServer, ['503'])
  t.teardown(() => server.stop())
  await t.rejects(loadHttp({ url: server.url, seconds: 0.5 }), /answered HTTP\/1\.1 503/)
  await t.rejects(
    loadHttp({ url: new URL(`http://127.0.0.1:${await freePort()}`), seconds: 0.5 }),
    /ECONNREFUSED/,
  )
})

test('a server that does not start is an error with what it printed', async (t) => {
  await t.rejects(
    startServer('test/bench/fixtures/missing.ts'),
    /missing\.ts ended before it listened:.*Cannot find/s,
  )
})

test('the first answer is waited for', async (t) => {
  const url = new URL(`http://127.0.0.1:${await freePort()}`)
  await t.rejects(firstAnswer(url, 20), /did not answer in 20 ms/)
})

test('responses are counted however their bytes are cut', async (t) => {
  const bytes = Buffer.from(
    'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcdHTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n',
  )
  for (const size of [1, 7, bytes.length]) {
    let responses = 0
    const counter = new ResponseCounter(() => {
      responses += 1
    })
    for (let at = 0; at < bytes.length; at += size) counter.take(bytes.subarray(at, at + size))
    t.equal(responses, 2, `in pieces of ${size}`)
  }
})
