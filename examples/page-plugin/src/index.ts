import { join } from 'node:path'
import { definePlugin, Type, WebPages } from '@nodekeep/plugin-sdk'

export default definePlugin({
  id: 'who',
  description: 'Shows a page that tells who is signed in.',
  config: Type.Object({}),
  contributes: { pages: WebPages },
  setup({ pages }) {
    const folder = join(import.meta.dirname, '../page')
    pages.add('who', { title: 'Who', icon: 'user', folder, module: 'page.js' })
  },
})
