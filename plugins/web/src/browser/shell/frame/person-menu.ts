import type { PageUser } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Avatar } from '../../avatar.ts'
import { html } from '../../html.ts'
import type { IconName } from '../../icon.ts'
import { MenuButton, type MenuItem } from '../../menu.ts'
import { ask } from '../../questions.ts'
import * as texts from '../../texts.ts'
import { notice, noticeFailure } from '../notices.ts'
import { type ShownPage, signOut } from '../session.ts'
import { itemsOf } from './side-bar.ts'
import { chooseTheme, type Theme, theme, themes } from './theme.ts'

interface PersonMenuProps {
  readonly user: PageUser
  readonly pages: readonly ShownPage[]
}

const themeIcons: Readonly<Record<Theme, IconName>> = { light: 'sun', dark: 'moon', system: 'monitor' }

/** The menu of the person: their pages, the scheme of colors, and the way out. */
export function PersonMenu({ user, pages }: PersonMenuProps): VNode {
  const items: (MenuItem | null)[] = [
    ...itemsOf(pages.filter(({ place }) => place === 'user')),
    null,
    ...themes.map((one) => ({
      label: texts.shell.themes[one],
      icon: themeIcons[one],
      isChosen: theme.value === one,
      run: () => chooseTheme(one),
    })),
    null,
    { label: texts.shell.signOut, icon: 'log-out', run: () => void leave() },
  ]
  const head = html`<p class="person-head"><${Avatar} name=${user.username} /><b>${user.username}</b></p>`
  return html`<${MenuButton} class="person" label=${texts.shell.menuOf(user.username)} items=${items} head=${head}>
    <${Avatar} name=${user.username} />
  <//>`
}

async function leave(): Promise<void> {
  const { signOut: agree, signOutTitle: title, signOutText: text } = texts.shell
  if (isWorking() && (await ask({ title, text, agree })) === null) return
  try {
    await signOut()
    notice(texts.shell.signedOut)
  } catch (error) {
    noticeFailure(error, texts.shell.requestFailed)
  }
}

/** Asks the pages, as a browser does before a tab closes. */
function isWorking(): boolean {
  return !dispatchEvent(new Event('beforeunload', { cancelable: true }))
}
