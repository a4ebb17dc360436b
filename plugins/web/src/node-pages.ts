import { join } from 'node:path'
import type { WebPage } from '@nodekeep/plugin-sdk'

/** Returns the pages of Nodekeep itself, in the order of the navigation. Each has a folder of its own in the bundle. */
export function nodePages(bundle: string): [name: string, page: WebPage][] {
  const files = { module: 'page.js', stylesheet: 'page.css' }
  return [
    ['files', { title: 'Files', folder: join(bundle, 'files'), ...files, needs: ['files'] }],
    ['photos', { title: 'Photos', folder: join(bundle, 'photos'), ...files, needs: ['files', 'previews'] }],
    ['trash', { title: 'Trash', folder: join(bundle, 'trash'), ...files, needs: ['files'] }],
    [
      'published',
      { title: 'Published', folder: join(bundle, 'published'), ...files, needs: ['files', 'ipfs'] },
    ],
    ['chat', { title: 'Chat', folder: join(bundle, 'chat'), ...files, needs: ['ai', 'files'] }],
    ['wasm', { title: 'WebAssembly', folder: join(bundle, 'wasm'), ...files, needs: ['files', 'wasm'] }],
    ['node', { title: 'Node', folder: join(bundle, 'node'), ...files }],
    ['account', { title: 'Account', folder: join(bundle, 'account'), ...files }],
  ]
}
