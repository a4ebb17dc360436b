import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { configuration } from '../src/configuration.ts'
import { createNativeNode } from './fixtures/native-node.ts'
import { post, readAnswer, store } from './fixtures/wasm-node.ts'
import { wat } from './fixtures/wat.ts'

interface Documented {
  readonly default?: unknown
  readonly description?: string
}

const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')

t.test('the example in the text format gives the answer of the page', async (t) => {
  const [, source = ''] = /```wat\n(.*?)```/s.exec(readme) ?? []
  const [, body = ''] = /--json '(.*?)' \\\n .*execute-file/.exec(readme) ?? []
  const [, answer = ''] = /```json\n(.*?)\n```/s.exec(readme) ?? []
  const node = await createNativeNode(t)
  const ada = await node.signIn()
  await store(ada, '/math.wasm', await wat(source))
  t.equal((await readAnswer(post(ada, 'execute-file', body))).text, answer)
})

t.test('the page has every key of the configuration', (t) => {
  const rows = Object.entries(configuration.properties as Record<string, Documented>).map(
    ([key, { default: value, description }]) => `| \`${key}\` | \`${value}\` | ${description} |`,
  )
  t.strictSame(
    readme.split('\n').filter((line) => /^\| `\w+` \| `\d+` \|/.test(line)),
    rows,
  )
  t.end()
})
