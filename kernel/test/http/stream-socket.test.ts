import { once } from 'node:events'
import { Duplex, type DuplexOptions } from 'node:stream'
import { test } from 'tap'
import { StreamSocket } from '../../src/http/stream-socket.ts'
import { until } from '../state/fixtures/until.ts'

type Done = (error?: Error | null) => void

/** A stream whose writes wait until they are let go. */
function createStream(options: DuplexOptions = {}) {
  const written: Buffer[] = []
  const waiting: Done[] = []
  let isSlow = false
  const stream = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      written.push(chunk)
      if (isSlow) waiting.push(done)
      else done()
    },
    ...options,
  })
  stream.allowHalfOpen = true
  return {
    stream,
    written,
    slow() {
      isSlow = true
    },
    letGo: (error?: Error) => waiting.shift()?.(error),
  }
}

test('chunks pass in both directions as they are', async (t) => {
  const { stream, written } = createStream()
  const socket = new StreamSocket(stream)
  const received: unknown[] = []
  socket.on('data', (chunk) => received.push(chunk))
  const chunks = [Buffer.from('abc'), Buffer.from('defg')]
  for (const chunk of chunks) stream.push(chunk)
  await until(() => received.length === 2)
  for (const [index, chunk] of chunks.entries()) t.equal(received[index], chunk, 'the same memory')
  t.equal(socket.bytesRead, 7)

  socket.cork()
  for (const chunk of chunks) socket.write(chunk)
  socket.uncork()
  await until(() => written.length === 2)
  for (const [index, chunk] of chunks.entries()) t.equal(written[index], chunk, 'the same memory')
  socket.destroy()
})

test('a slow reader and a slow writer are waited for', async (t) => {
  const { stream, written, slow, letGo } = createStream()
  const socket = new StreamSocket(stream)
  slow()
  const chunk = Buffer.alloc(16 * 1024)
  let pushes = 0
  socket.once('readable', () => {})
  while (pushes < 1000 && !(stream.isPaused() && socket.readableLength > 0)) {
    stream.push(chunk)
    pushes += 1
    await new Promise(setImmediate)
  }
  t.ok(socket.readableLength <= socket.readableHighWaterMark + chunk.length, 'nobody reads')
  t.ok(stream.isPaused())

  while (socket.write(chunk)) {}
  await new Promise(setImmediate)
  t.equal(written.length, 1, 'the stream gets the next chunk when it has passed on the first')
  letGo()
  await until(() => written.length > 1)
  socket.destroy()
  t.ok(stream.destroyed)
})

test('silence in both directions is a timeout, and any movement is none', async (t) => {
  // The timers of a socket do not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const { stream, slow, letGo } = createStream()
  const socket = new StreamSocket(stream)
  socket.resume()
  let timeouts = 0
  socket.on('timeout', () => {
    timeouts += 1
  })
  socket.setTimeout(200)
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (i % 2 === 0) stream.push(Buffer.from('a'))
    else socket.write('a')
  }
  t.equal(timeouts, 0)
  slow()
  socket.write('a')
  await once(socket, 'timeout')
  socket.setTimeout(200)
  letGo()
  await once(socket, 'timeout')
  socket.setTimeout(0)
  t.equal(timeouts, 2)
  socket.setTimeout(10)
  socket.destroy()
  await once(socket, 'close')
  await new Promise((resolve) => setTimeout(resolve, 30))
  t.equal(timeouts, 2, 'a destroyed socket is silent')
})

test('the end of each side passes on its own', async (t) => {
  let ended = false
  const { stream, written } = createStream({
    final(done) {
      ended = true
      done()
    },
  })
  const socket = new StreamSocket(stream)
  const end = once(socket, 'end')
  stream.push(null)
  await end
  t.notOk(ended, 'the other side is still open')
  socket.end('bye')
  await once(socket, 'close')
  t.ok(ended)
  t.equal(String(Buffer.concat(written)), 'bye')
  t.ok(stream.destroyed)
})

test('the bytes before an end are read, even if the stream closes at once', async (t) => {
  const { stream } = createStream()
  const socket = new StreamSocket(stream)
  socket.end()
  await once(socket, 'finish')
  socket.read(0)
  stream.push(Buffer.from('the last words'))
  stream.push(null)
  await once(stream, 'close')
  t.notOk(socket.destroyed)
  t.equal(String(socket.read()), 'the last words')
  socket.resume()
  await once(socket, 'close')
})

test('a cut of either side cuts the other', async (t) => {
  const one = createStream()
  const cut = new StreamSocket(one.stream)
  one.stream.destroy()
  await once(cut, 'close')
  t.ok(cut.destroyed)

  const two = createStream()
  const failing = new StreamSocket(two.stream)
  const failure = new Error('The line is down.')
  two.stream.destroy(failure)
  t.equal((await once(failing, 'error'))[0], failure)

  const three = createStream()
  three.slow()
  const pending = new StreamSocket(three.stream)
  pending.write('a')
  await until(() => three.written.length === 1)
  three.letGo(failure)
  t.equal((await once(pending, 'error'))[0], failure)
  t.ok(three.stream.destroyed)

  const four = createStream()
  const soon = new StreamSocket(four.stream)
  soon.write('a')
  soon.destroySoon()
  await once(soon, 'close')
  t.equal(String(Buffer.concat(four.written)), 'a')
  t.ok(four.stream.destroyed)
})
