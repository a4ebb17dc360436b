import { isAbsolute } from 'node:path'
import { defineRegistry } from '../service.ts'

/**
 * A page for people, within the pages of the node. Its name in the registry is its path: the page `notes` opens at `/#/notes`, and
 * its files are served at `/pages/notes/`.
 *
 * The page runs with the rights of the person who looks at it. It can call every route that this person may call.
 */
export interface WebPage {
  /** The name in the navigation, 1 to 40 characters. */
  readonly title: string
  /**
   * The name of its icon in the navigation, of those of the plugin `web`, such as `star`. Default, and for other names: the icon of a
   * plugin.
   */
  readonly icon?: string
  /**
   * Where the navigation has the page:
   *
   * - `tab`: in the side bar, and among the tabs of a phone, if it is one of the first four
   * - `side`: in the side bar, and under "More" on a phone
   * - `more`: under "More"
   * - `user`: in the menu of the person
   *
   * Default: `more`.
   */
  readonly place?: 'tab' | 'side' | 'more' | 'user'
  /**
   * The absolute path of a folder with the files of the page. Everybody who may see the page can read all files in it, so keep
   * no others there.
   */
  readonly folder: string
  /** The path of an ES module within the folder. Its default export is a `MountPage` of `@nodekeep/plugin-sdk/web-page`. */
  readonly module: string
  /** The path of a stylesheet within the folder. It applies while the page is shown. */
  readonly stylesheet?: string
  /** The people who see the page. Default: `user`, everybody who is signed in. */
  readonly access?: 'user' | 'owner'
  /** The ids of other plugins that the page uses. Without one of them, the page is not shown. */
  readonly needs?: readonly string[]
}

/** All pages, by name. Within a place, the navigation shows them in the order in which they were added. */
export const WebPages = defineRegistry<WebPage>(
  'web-pages',
  1,
  ({ title, icon, place, folder, module, stylesheet, access, needs }) => {
    if (typeof title !== 'string' || title.length < 1 || title.length > 40)
      return 'has no title with 1 to 40 characters'
    if (typeof folder !== 'string' || !isAbsolute(folder))
      return 'does not name the absolute path of a folder'
    if (![module, stylesheet ?? module].every(isRelative))
      return 'does not name a module and a stylesheet within its folder'
    if (icon !== undefined && !/^[a-z0-9-]{1,40}$/.test(icon))
      return 'has an icon that is no name of small letters, digits and dashes'
    if (![undefined, 'tab', 'side', 'more', 'user'].includes(place))
      return 'has a place that is none of "tab", "side", "more" and "user"'
    if (![undefined, 'user', 'owner'].includes(access))
      return 'has an access that is neither "user" nor "owner"'
    if (needs !== undefined && !Array.isArray(needs))
      return 'does not name the plugins that it needs in a list'
    return null
  },
)

/**
 * The path of the stylesheet of the plugin `web`, which everybody may read. A page that a plugin serves itself, such as one for guests, looks
 * like the pages of the node with it, and is plain where the node has no pages.
 */
export const webStylesheet = '/web/shell.css'

/**
 * The Content-Security-Policy of the node's pages: scripts, workers, styles and requests of this origin only, and no HTML from strings. Pictures, sound, video and documents may also be
 * blobs, for previews, and pictures data, for the icons of wallets. A form in a hidden frame downloads an archive.
 */
export const webPagePolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "frame-src 'self' blob:",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

function isRelative(path: unknown): boolean {
  return typeof path === 'string' && /^(?!\.)[^\\]+$/.test(path) && !isAbsolute(path) && !path.includes('/.')
}
