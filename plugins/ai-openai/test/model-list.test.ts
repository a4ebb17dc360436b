import { test } from 'tap'
import { subject } from './fixtures/chatting.ts'
import { sendJson } from './openai-server.ts'

test('The provider reads lists of models in every form', async (t) => {
  const { server, provider } = await subject(t)
  const list = () => provider.models(AbortSignal.timeout(5000))
  for (const answer of [
    { object: 'list', data: [{ id: 'a' }, { id: 'b' }, { id: 'a' }] },
    [{ id: 'a' }, 'b'],
    { models: [{ name: 'a' }, { name: 'b' }] },
    { data: [{ id: 'a' }, null, 7, {}, { id: '' }, { id: 'b' }] },
  ]) {
    server.answer = (response) => sendJson(response, 200, answer)
    t.strictSame(await list(), ['a', 'b'], JSON.stringify(answer))
  }
  server.answer = (response) => response.end('{"data":[{"id":"a"}]}')
  t.strictSame(await list(), ['a'], 'The list has no content type of JSON.')
  server.answer = (response) => sendJson(response, 200, { data: null, models: [] })
  t.strictSame(await list(), [])
  for (const answer of [{ data: 'none' }, null, 7, {}]) {
    server.answer = (response) => sendJson(response, 200, answer)
    await t.rejects(list(), { code: 'UPSTREAM_ERROR' }, JSON.stringify(answer))
  }
  server.answer = (response) => response.writeHead(200).end('<html>')
  await t.rejects(list(), { code: 'UPSTREAM_ERROR' })
  server.answer = (response) => sendJson(response, 200, { error: 'Unexpected endpoint. (GET /models)' })
  await t.rejects(list(), { permanent: true, message: /It says: Unexpected endpoint\. \(GET \/models\)$/ })
  server.answer = (response) => response.writeHead(404).end()
  await t.rejects(list(), {
    code: 'UPSTREAM_ERROR',
    message: /has no list.*ai-openai\.baseURL.*ai-openai\.models/,
  })
})
