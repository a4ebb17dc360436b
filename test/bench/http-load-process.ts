/**
 * The client behind `loadHttp`. It implements as little of HTTP as possible: on two cores, a client that is slower than the
 * server would measure itself.
 */
import { connect, type Socket } from 'node:net'
import type { LoadOptions, LoadResult } from './http-load.ts'
import { ResponseCounter } from './response-counter.ts'

const options: Omit<LoadOptions, 'url'> & { readonly url: string } = JSON.parse(process.argv[2] ?? '')
const { connections = 32, pipelining = 1, seconds = 2 } = options
const url = new URL(options.url)
const requests = (options.paths ?? [`${url.pathname}${url.search}`]).map(requestBytes)
let turn = 0
const latencies: number[] = []
let measuring = false
let stopped = false

const sockets = Array.from({ length: connections }, open)
await new Promise((resolve) => setTimeout(resolve, 500))
measuring = true
const start = performance.now()
await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
const elapsed = performance.now() - start
stopped = true
for (const socket of sockets) socket.destroy()
console.log(JSON.stringify(result(latencies, elapsed)))

function open(): Socket {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
  const sent: number[] = []
  const send = () => {
    sent.push(performance.now())
    socket.write(requests[turn] as Buffer)
    turn = (turn + 1) % requests.length
  }
  const counter = new ResponseCounter(() => {
    const since = sent.shift() ?? 0
    if (measuring) latencies.push(performance.now() - since)
    send()
  })
  socket.on('connect', () => {
    for (let i = 0; i < pipelining; i += 1) send()
  })
  socket.on('data', (chunk: Buffer) => counter.take(chunk))
  socket.on('error', fail)
  socket.on('close', () => {
    if (!stopped) fail(new Error('The server closed a connection.'))
  })
  return socket
}

function requestBytes(path: string): Buffer {
  const { method = 'GET', headers = {}, body = '' } = options
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${url.host}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (body) lines.push(`content-length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

function result(measured: readonly number[], elapsedMs: number): LoadResult {
  const sorted = Float64Array.from(measured).sort()
  const quantile = (q: number) => sorted[Math.ceil(q * sorted.length) - 1] ?? 0
  return {
    requests: sorted.length,
    requestsPerSecond: (sorted.length / elapsedMs) * 1000,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}

function fail(error: Error): never {
  console.error(error.message)
  process.exit(1)
}
