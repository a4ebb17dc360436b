import { join } from 'node:path'
import { definePlugin, Type, WebPages } from '@nodekeep/plugin-sdk'

export default definePlugin({
  id: 'who',
  description: 'Shows a page that tells who is signed in.',
  config: Type.Object({}),
  contributes: { pages: WebPages },
  setup({ pages }) {
    pages.add('who', { title: 'Who', folder: join(import.meta.dirname, '../page'), module: 'page.js' })
  },
})
