import { join } from 'node:path'
import type { WebPage } from '@nodekeep/plugin-sdk'

/** Returns the pages of Nodekeep itself, in the order of the navigation. Each has a folder of its own in the bundle. */
export function nodePages(bundle: string): [name: string, page: WebPage][] {
  const page = (
    name: string,
    title: string,
    icon: string,
    place: NonNullable<WebPage['place']>,
    needs: readonly string[],
  ): [name: string, page: WebPage] => [
    name,
    { title, icon, place, folder: join(bundle, name), module: 'page.js', stylesheet: 'page.css', needs },
  ]
  return [
    page('files', 'Files', 'folder', 'tab', ['files']),
    page('photos', 'Photos', 'image', 'tab', ['files', 'previews']),
    page('chat', 'Chat', 'message-square', 'tab', ['ai', 'files']),
    page('links', 'Links', 'share-2', 'side', ['files', 'shares']),
    page('trash', 'Trash', 'trash-2', 'side', ['files']),
    page('node', 'Node', 'server', 'tab', []),
    page('published', 'Published', 'globe', 'more', ['files', 'ipfs']),
    page('wasm', 'WebAssembly', 'box', 'more', ['files', 'wasm']),
    page('account', 'Account', 'user', 'user', []),
    page('connect-app', 'Connect an app', 'smartphone', 'user', ['webdav']),
  ]
}
