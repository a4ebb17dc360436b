import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon, iconNamed } from '../../icon.ts'
import { narrow, useMedia } from '../../media.ts'
import { MenuButton, type MenuItem } from '../../menu.ts'
import * as texts from '../../texts.ts'
import { addressOf } from '../address.ts'
import { shownPage } from '../page-host.ts'
import type { ShownPage } from '../session.ts'
import { Product } from './product.ts'
import { Room } from './room.ts'

/** The tabs of a phone, beside "More". */
const mostTabs = 4

/** The navigation: beside the page, and on a phone below it. Pages without room there stand under "More". */
export function SideBar({ pages }: { pages: readonly ShownPage[] }): VNode {
  const isNarrow = useMedia(narrow)
  const tabs = pages.filter(({ place }) => place === 'tab').slice(0, mostTabs)
  const own = isNarrow ? tabs : pages.filter(({ place }) => place === 'tab' || place === 'side')
  const more = pages.filter((page) => page.place !== 'user' && !own.includes(page))
  const shown = shownPage.value?.name
  const isInMore = more.some(({ name }) => name === shown)
  return html`<nav class="side" aria-label=${texts.shell.navigation}>
    <${Product} />
    <ul>
      ${own.map(
        ({ name, title, icon: iconName }) => html`<li key=${name}>
          <a href=${addressOf(`/${name}`)} aria-current=${name === shown ? 'page' : undefined}>
            ${iconNamed(iconName)}<span>${title}</span>
          </a>
        </li>`,
      )}
      ${
        more.length > 0 &&
        html`<li>
          <${MenuButton} label=${texts.shell.more} items=${itemsOf(more)} aria-current=${isInMore ? 'true' : undefined}>
            ${icon('ellipsis')}<span>${texts.shell.more}</span>
          <//>
        </li>`
      }
    </ul>
    ${!isNarrow && pages.some(({ name }) => name === 'files') && html`<${Room} />`}
  </nav>`
}

/** Returns lines that lead to pages. */
export function itemsOf(pages: readonly ShownPage[]): MenuItem[] {
  return pages.map(({ name, title, icon }) => ({
    label: title,
    icon: iconNamed(icon),
    href: addressOf(`/${name}`),
    isCurrent: name === shownPage.value?.name,
  }))
}
