import { NodekeepError } from '@nodekeep/plugin-sdk'
import { byteRange, contentHeaders, refuseAsCode, sendContent } from '@nodekeep/plugin-sdk/stored-content'
import fastify from 'fastify'
import t, { type Test } from 'tap'

const bytes = Buffer.from('<h1>hello</h1>')

/** A server with a route as the documents of the SDK show it. `length` is what the route says of the content. */
async function startServer(t: Test, length = bytes.length) {
  const app = fastify()
  let opened = 0
  let closed = 0
  async function* read(start: number, end: number) {
    opened += 1
    try {
      yield bytes.subarray(start, end + 1)
    } finally {
      closed += 1
    }
  }
  app.get('/page.html', async (request, reply) => {
    refuseAsCode(request)
    const headers = contentHeaders('page.html')
    const range = byteRange(request.headers.range, length)
    if (range === 'unsatisfiable')
      throw new NodekeepError('RANGE_NOT_SATISFIABLE', 'The range is not within it.')
    const content = range === null ? read(0, bytes.length - 1) : read(range.start, range.end)
    if (range === null) await sendContent(reply, { status: 200, headers, length, content })
    else {
      const part = { ...headers, 'content-range': `bytes ${range.start}-${range.end}/${length}` }
      await sendContent(reply, { status: 206, headers: part, length: range.end - range.start + 1, content })
    }
    return reply
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  return {
    readings: () => ({ opened, closed }),
    get: (init: RequestInit = {}) => fetch(`${url}/page.html`, init),
  }
}

t.test('stored content is sent with ranges, and a stored page is contained', async (t) => {
  const { get, readings } = await startServer(t)
  const whole = await get()
  t.equal(whole.status, 200)
  t.equal(await whole.text(), String(bytes))
  t.match(whole.headers.get('content-disposition'), /^attachment/)
  t.match(whole.headers.get('content-security-policy'), /sandbox/)
  const part = await get({ headers: { range: 'bytes=4-8' } })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 4-8/14')
  t.equal(await part.text(), 'hello')
  t.strictSame(readings(), { opened: 2, closed: 2 })
  const refused = await get({ headers: { 'sec-fetch-dest': 'script' } })
  t.match(await refused.json(), { message: /A page cannot run a stored file/ })
})

t.test('an answer to HEAD has the headers, and reads nothing', async (t) => {
  const { get, readings } = await startServer(t)
  const head = await get({ method: 'HEAD' })
  t.equal(head.headers.get('content-length'), '14')
  t.equal(head.headers.get('accept-ranges'), 'bytes')
  t.equal(await head.text(), '')
  t.strictSame(readings(), { opened: 0, closed: 0 })
})

t.test('content of another length breaks the answer off', async (t) => {
  for (const length of [bytes.length + 1, bytes.length - 1]) {
    const { get } = await startServer(t, length)
    await t.rejects(
      get().then((answer) => answer.text()),
      `${length}`,
    )
  }
})
