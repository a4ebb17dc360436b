import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type WebPage, WebPages } from '@nodekeep/plugin-sdk'
import { webPageConformance } from '@nodekeep/plugin-sdk/conformance/web-page'
import who from '../src/index.ts'

test('The node offers the page to signed-in users', async (t) => {
  const node = await createTestNode({ plugins: [who], config: { plugins: { web: true } } })
  t.after(() => node.stop())
  const ada = await node.signIn()
  const answer = await ada.fetch('/api/web/pages')
  const { pages } = (await answer.json()) as { pages: readonly { readonly name: string }[] }
  const shown = pages.find(({ name }) => name === 'who')
  assert.deepEqual(shown, {
    name: 'who',
    title: 'Who',
    icon: 'user',
    place: 'more',
    module: '/pages/who/page.js',
    stylesheet: null,
  })
  const module = await ada.fetch('/pages/who/page.js')
  assert.equal(module.headers.get('content-type'), 'text/javascript; charset=utf-8')
  assert.match(await module.text(), /export default function/)
  assert.equal((await node.fetch('/pages/who/page.js')).status, 401)
})

webPageConformance(test, {
  async setUp() {
    let found: WebPage | undefined
    const capture = definePlugin({
      id: 'capture',
      requires: { pages: WebPages },
      setup({ pages, onStart }) {
        onStart(() => {
          found = pages.get('who')
        })
      },
    })
    const node = await createTestNode({ plugins: [who, capture] })
    if (found === undefined) throw new Error('The plugin has added no page.')
    const ada = await node.signIn()
    return { name: 'who', page: found, fetch: ada.fetch, close: () => node.stop() }
  },
})
