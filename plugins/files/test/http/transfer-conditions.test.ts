import t from 'tap'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'

t.test('a move and a copy can demand versions', async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const tagOf = async (answer: Promise<Response>) => (await answer).headers.get('etag') ?? ''

  for (const endpoint of ['move', 'api/files/copy']) {
    for (const destination of ['/there', '/memory/there']) {
      t.test(`${endpoint} to ${destination}`, async (t) => {
        const send = (headers: Record<string, string>, source = '/file', overwrite = false) =>
          post(ada, endpoint, { source, destination, overwrite }, headers)
        const old = await tagOf(put(ada, '/file', 'old'))
        const current = await tagOf(put(ada, '/file', 'current'))
        await post(ada, 'mkdir', { path: '/folder' })

        for (const [headers, status, source] of [
          [{ 'if-match': old }, 412],
          [{ 'if-match': `${old}, "x"` }, 412],
          [{ 'if-match': `W/${current}` }, 412],
          [{ 'if-unmodified-since': new Date(0).toUTCString() }, 412],
          [{ 'if-match': old }, 404, '/none'],
          [{ 'if-match': '*' }, 412, '/none'],
          [{ 'if-none-match': current }, 400],
          [{ 'if-match': current }, 400, '/folder'],
          [{ 'if-unmodified-since': new Date().toUTCString() }, 400, '/folder'],
        ] as [Record<string, string>, number, string?][]) {
          const answer = await send(headers, source)
          t.equal(answer.status, status, JSON.stringify([headers, source]))
          await answer.body?.cancel()
        }
        t.equal((await get(ada, 'stat', destination)).status, 404)

        t.equal((await send({ 'if-match': current, 'if-none-match': '*' })).status, 200)
        t.equal(await (await get(ada, 'read', destination)).text(), 'current')
        const next = await tagOf(put(ada, '/file', 'next'))
        for (const overwrite of [false, true]) {
          const answer = await send({ 'if-none-match': '*' }, '/file', overwrite)
          t.equal(answer.status, 412, 'nothing may be at the destination, whatever "overwrite" says')
          t.match(await answer.json(), { code: 'PRECONDITION_FAILED', message: destination })
        }
        t.equal((await send({ 'if-match': `"x", ${next}` }, '/file', true)).status, 200)
        t.equal(await (await get(ada, 'read', destination)).text(), 'next')
        t.equal((await send({ 'if-match': '*' }, '/folder', true)).status, 200, 'a folder need only exist')
        for (const path of ['/folder', '/file', destination]) await post(ada, 'delete', { path })
      })
    }
  }

  t.test('of a move and a write that demand the same version, one succeeds', async (t) => {
    for (const destination of ['/raced', '/memory/raced']) {
      for (let round = 0; round < 12; round += 1) {
        const tag = await tagOf(put(ada, '/race', 'start'))
        const condition = { 'if-match': tag }
        const [written, moved] = await Promise.all([
          put(ada, '/race', 'written', condition),
          post(ada, 'move', { source: '/race', destination }, condition),
        ])
        const outcome = [written.status, moved.status]
        if (written.status === 200) {
          t.strictSame(outcome, [200, 412])
          t.equal(await (await get(ada, 'read', '/race')).text(), 'written')
        } else {
          t.equal(moved.status, 200)
          t.ok([404, 412].includes(written.status), String(written.status))
          t.equal(await (await get(ada, 'read', destination)).text(), 'start')
          t.equal((await post(ada, 'delete', { path: destination })).status, 200)
        }
      }
    }
  })

  t.test('of two moves to the same absent path, one succeeds', async (t) => {
    for (let round = 0; round < 8; round += 1) {
      await Promise.all([put(ada, '/one', 'one'), put(ada, '/two', 'two')])
      const answers = await Promise.all(
        ['/one', '/two'].map((source) =>
          post(ada, 'move', { source, destination: '/goal', overwrite: true }, { 'if-none-match': '*' }),
        ),
      )
      t.strictSame(answers.map(({ status }) => status).sort(), [200, 412])
      for (const path of ['/one', '/two', '/goal']) await post(ada, 'delete', { path })
    }
  })
})
