import fc from 'fast-check'
import t from 'tap'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.test('GET and HEAD of /read return a file', async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/docs/letter.txt', 'Dear reader,')
  const read = (headers: Record<string, string> = {}, path = '/docs/letter.txt') =>
    get(ada, 'read', path, { headers })
  const etag = (await read()).headers.get('etag') ?? ''
  const modified = (await read()).headers.get('last-modified') ?? ''

  t.test('GET sends the bytes and their metadata', async (t) => {
    const answer = await read()
    t.equal(answer.status, 200)
    t.match(Object.fromEntries(answer.headers), {
      'content-length': '12',
      'content-type': 'text/plain; charset=utf-8',
      etag: /^"[!#-~]+"$/,
      'last-modified': /GMT$/,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline; filename=letter.txt',
      'x-request-id': /./,
    })
    t.equal(await answer.text(), 'Dear reader,')
    await put(ada, '/empty', '')
    const empty = await read({}, '/empty')
    t.equal(empty.headers.get('content-length'), '0')
    t.equal(await empty.text(), '')
  })

  t.test('HEAD sends the headers of GET and no bytes', async (t) => {
    const [head, whole] = [await get(ada, 'read', '/docs/letter.txt', { method: 'HEAD' }), await read()]
    t.equal(head.status, 200)
    t.equal(await head.text(), '')
    const ignored = ['connection', 'keep-alive', 'date', 'x-request-id']
    const headersOf = ({ headers }: Response) => [...headers].filter(([name]) => !ignored.includes(name))
    t.strictSame(headersOf(head), headersOf(whole))
    const ranged = await get(ada, 'read', '/docs/letter.txt', {
      method: 'HEAD',
      headers: { range: 'bytes=0-1' },
    })
    t.equal(ranged.status, 200)
    t.equal(ranged.headers.get('content-length'), '12')
  })

  t.test('a range returns part of a file', async (t) => {
    const cases: [string, number, string, string | null][] = [
      ['bytes=0-3', 206, 'Dear', 'bytes 0-3/12'],
      ['bytes=5-', 206, 'reader,', 'bytes 5-11/12'],
      ['bytes=-7', 206, 'reader,', 'bytes 5-11/12'],
      ['bytes=-100', 206, 'Dear reader,', 'bytes 0-11/12'],
      ['bytes=11-100', 206, ',', 'bytes 11-11/12'],
      ['bytes=0-1,3-4', 200, 'Dear reader,', null],
      ['bytes=2-1', 200, 'Dear reader,', null],
      ['lines=1-2', 200, 'Dear reader,', null],
    ]
    for (const [range, status, text, contentRange] of cases) {
      const answer = await read({ range })
      t.equal(answer.status, status, range)
      t.equal(answer.headers.get('content-range'), contentRange)
      t.equal(answer.headers.get('content-length'), String(text.length))
      t.equal(await answer.text(), text)
    }
    for (const range of ['bytes=12-', 'bytes=50-60', 'bytes=-0']) {
      const answer = await read({ range })
      t.equal(answer.status, 416, range)
      t.equal(answer.headers.get('content-range'), 'bytes */12')
      t.equal(answer.headers.get('etag'), null)
      t.match(await answer.json(), { error: true, code: 'RANGE_NOT_SATISFIABLE' })
    }
  })

  t.test('any range of a large file equals the slice of its bytes', async () => {
    const bytes = Buffer.from(
      Array.from({ length: 700_000 }, (_, index) => (index * 31 + (index >> 8)) & 0xff),
    )
    await put(ada, '/large', bytes)
    await put(ada, '/memory/large', bytes)
    const position = fc.oneof(fc.nat({ max: 710_000 }), fc.constantFrom(0, 65_535, 65_536, 524_288, 699_999))
    await fc.assert(
      fc.asyncProperty(
        position,
        position,
        fc.constantFrom('both', 'open', 'suffix'),
        fc.constantFrom('/large', '/memory/large'),
        async (first, last, form, path) => {
          const range = form === 'suffix' ? `-${first}` : `${first}-${form === 'open' ? '' : last}`
          const answer = await read({ range: `bytes=${range}` }, path)
          const body = Buffer.from(await answer.arrayBuffer())
          const wanted =
            form === 'suffix'
              ? bytes.subarray(Math.max(0, bytes.length - first))
              : bytes.subarray(first, form === 'open' ? bytes.length : last + 1)
          if (form === 'both' && last < first) return answer.status === 200 && body.equals(bytes)
          if (wanted.length === 0 || (form === 'suffix' && first === 0)) return answer.status === 416
          return answer.status === 206 && body.equals(wanted)
        },
      ),
      { numRuns: 50 },
    )
  })

  t.test('conditions decide whether the file is sent', async (t) => {
    const status = async (headers: Record<string, string>) => (await read(headers)).status
    t.equal(await status({ 'if-none-match': etag }), 304)
    t.equal(await status({ 'if-none-match': `W/${etag}` }), 304)
    t.equal(await status({ 'if-none-match': '"other"' }), 200)
    t.equal(await status({ 'if-modified-since': modified }), 304)
    t.equal(await status({ 'if-modified-since': 'Sun, 01 Jan 2006 00:00:00 GMT' }), 200)
    t.equal(await status({ 'if-match': '"other"' }), 412)
    t.equal(await status({ 'if-match': etag }), 200)
    t.equal(await status({ range: 'bytes=0-1', 'if-range': etag }), 206)
    t.equal(await status({ range: 'bytes=0-1', 'if-range': modified }), 200)
    t.equal(await status({ range: 'bytes=0-1', 'if-range': '"other"' }), 200)
    t.equal(await status({ range: 'bytes=50-', 'if-range': '"other"' }), 200)
    t.equal(await status({ range: 'bytes=0-1', 'if-none-match': etag }), 304)
    const unchanged = await read({ 'if-none-match': etag })
    t.equal(unchanged.headers.get('etag'), etag)
    t.equal(unchanged.headers.get('cache-control'), 'private, no-cache')
    t.equal(await unchanged.text(), '')
    const head = await get(ada, 'read', '/docs/letter.txt', {
      method: 'HEAD',
      headers: { 'if-none-match': etag },
    })
    t.equal(head.status, 304)
  })

  t.test('an overwritten file has another tag, even at the same time and with the same size', async (t) => {
    const seen = new Set<string | null>()
    for (let round = 0; round < 20; round += 1) {
      await put(ada, '/changing', `${round % 10}`)
      seen.add((await read({}, '/changing')).headers.get('etag'))
    }
    t.equal(seen.size, 20)
  })

  t.test('paths that cannot be read are refused', async (t) => {
    const cases: [string, number, string][] = [
      ['/none', 404, 'NOT_FOUND'],
      ['/docs/letter.txt/below', 404, 'NOT_FOUND'],
      ['/docs', 400, 'VALIDATION_ERROR'],
      ['/', 400, 'VALIDATION_ERROR'],
      ['/memory', 400, 'VALIDATION_ERROR'],
      ['/docs/../docs/letter.txt', 400, 'VALIDATION_ERROR'],
    ]
    for (const [path, status, code] of cases) {
      for (const headers of [{}, { range: 'bytes=0-1' }] as Record<string, string>[]) {
        const answer = await read(headers, path)
        t.equal(answer.status, status, path)
        t.match(await answer.json(), { error: true, code })
      }
      t.equal((await get(ada, 'read', path, { method: 'HEAD' })).status, status)
    }
    t.equal((await ada.fetch('/read')).status, 400, 'the path is missing')
    t.equal((await ada.fetch('/read?path=/a&path=/b')).status, 400, 'the path is given twice')
    t.equal((await node.fetch('/read?path=/docs/letter.txt')).status, 401)
    t.equal((await post(ada, 'read', { path: '/docs/letter.txt' })).status, 405)
  })

  t.test('the headers are valid for all names', async (t) => {
    for (const name of [
      'naïve "file".txt',
      '日本.png',
      'line\nbreak.txt',
      'semi;colon=.bin',
      'x'.repeat(255),
    ]) {
      await put(ada, `/names/${name}`, 'x')
      const { status, headers } = await read({}, `/names/${name}`)
      t.equal(status, 200)
      t.match(headers.get('content-disposition'), /^(inline|attachment); filename/)
    }
  })
})

t.test('a range is served although the file becomes smaller while it is opened', async (t) => {
  const shaky = shakyBackend()
  const node = await createFilesNode({ mounts: { '/shaky': 'shaky' } }, { plugins: [shaky.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const large = 'l'.repeat(100_000)
  const small = 's'.repeat(100)
  for (const [range, part] of [
    ['bytes=0-', 'bytes 0-99/100'],
    ['bytes=-50', 'bytes 50-99/100'],
    ['bytes=50-99999', 'bytes 50-99/100'],
  ]) {
    await put(ada, '/shaky/file', large)
    shaky.beforeRead = async () => {
      shaky.beforeRead = async () => {}
      await put(ada, '/shaky/file', small)
    }
    const answer = await get(ada, 'read', '/shaky/file', { headers: { range: range ?? '' } })
    t.equal(answer.status, 206, `${range}`)
    t.equal(answer.headers.get('content-range'), part)
    t.match(await answer.text(), /^s+$/)
  }

  await put(ada, '/shaky/file', large)
  shaky.beforeRead = async () => {
    shaky.beforeRead = async () => {}
    await put(ada, '/shaky/file', small)
  }
  const beyond = await get(ada, 'read', '/shaky/file', { headers: { range: 'bytes=1000-' } })
  t.equal(beyond.status, 416, 'the smaller version does not have the range')
  t.equal(beyond.headers.get('content-range'), 'bytes */100')

  let size = 100_000
  shaky.beforeRead = async () => {
    size -= 1000
    await put(ada, '/shaky/file', 'x'.repeat(size))
  }
  const changing = await get(ada, 'read', '/shaky/file', { headers: { range: 'bytes=0-' } })
  t.match([changing.status, await changing.json()], [503, { code: 'SERVICE_UNAVAILABLE' }])
})
