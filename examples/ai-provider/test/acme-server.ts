import { ModelHttpServer, type ModelWire, type ReceivedChat } from '@nodekeep/plugin-sdk/conformance/ai'

const line = (value: object) => `${JSON.stringify(value)}\n`

/** The protocol of the README. The suite's server adds HTTP and the scenes of the tests. */
const wire: ModelWire<ReceivedChat> = {
  chat: 'POST /chat',
  list: 'GET /models',
  contentType: 'application/x-ndjson',
  read: (body) => body,
  *reply({ thoughts = [], text, usage, finish, reason = finish }) {
    for (const thought of thoughts) yield line({ thought })
    for (const piece of text) yield line({ text: piece })
    if (usage) yield line({ tokens: { read: usage.inputTokens, written: usage.outputTokens } })
    yield line({ end: reason })
  },
  begin: (text) => text.map((piece) => line({ text: piece })),
  empty: line({}),
  openPiece: '{"text":"',
  failure: line({ error: 'The model gave up.' }),
  garbage: '<html>\n',
  error: (status, key) =>
    line({ error: `${status === 404 ? 'There is no such model' : status}, says "${key}".` }),
  models: (models) => line({ models }),
}

export const acmeServer = new ModelHttpServer(wire, ['acme-1', 'acme-1-mini'])
