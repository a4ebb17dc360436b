import { effect, signal } from '@preact/signals'

/** The schemes of colors that a person can choose. */
export const themes = ['light', 'dark', 'system'] as const
export type Theme = (typeof themes)[number]

/** The browser keeps the choice under this name, for the address of the node. */
const key = 'nodekeep-theme'

/** The scheme that the person chose for this browser. */
export const theme = signal(stored())

effect(() => {
  const { dataset } = document.documentElement
  if (theme.value === 'system') delete dataset.theme
  else dataset.theme = theme.value
  // The color of the window around an installed app.
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[data-scheme]')) {
    const { scheme } = meta.dataset
    if (theme.value === 'system') meta.media = `(prefers-color-scheme: ${scheme})`
    else meta.media = scheme === theme.value ? 'all' : 'not all'
  }
})

addEventListener('storage', () => {
  theme.value = stored()
})

/** Chooses a scheme, for all tabs of this browser. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  try {
    localStorage.setItem(key, chosen)
  } catch {
    // Without a storage, the choice lasts as long as the tab.
  }
}

function stored(): Theme {
  try {
    const value = localStorage.getItem(key)
    return themes.find((one) => one === value) ?? 'system'
  } catch {
    return 'system'
  }
}
