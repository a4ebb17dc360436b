import { counted } from '../counted.ts'

export const shell = {
  navigation: 'Pages',
  attention: (count: number) => counted(count, 'thing needs you', 'things need you'),
  more: 'More',
  search: 'Search files and what is in them',
  searchShort: 'Search',
  menuOf: (name: string) => `Menu of ${name}`,
  themes: { light: 'Light', dark: 'Dark', system: 'As the system' },
  roomUsed: (used: string) => `${used} used by you`,
  roomOf: (used: string, all: string) => `${used} of ${all} used`,
  skip: 'Skip to the content',
  away: 'The node does not answer. We keep trying. Nothing that you typed is lost.',
  awayTitle: 'Your node is away',
  awayText:
    'It may be switched off, or starting again, or your device has no network. This page goes on by itself.',
  signOut: 'Sign out',
  signOutTitle: 'Sign out now?',
  signOutText: 'Something still runs, such as an upload or a reply. It is canceled if you sign out.',
  signedOut: 'You are signed out.',
  sharedWithoutSession:
    'The files that you shared were not taken, since you are not signed in. Sign in, then share them again.',
  loading: 'Loading …',
  noPage: 'There is no page at this address. The plugin that it needs may be disabled.',
  noPages: 'This node has no pages for you.',
  pageFailed: (title: string) => `The page "${title}" cannot be shown.`,
  reload: 'Reload',
  requestFailed: 'The node did not answer. Try again.',
  notRunning: (isOwner: boolean) =>
    isOwner
      ? 'This part of the node is not running. You can start it on the page "Node", under "Plugins".'
      : 'This part of the node is not running. The owner of the node can start it.',
}

export const firstSteps = {
  title: 'Things to try',
  close: 'Do not show this again',
  steps: {
    network: { title: 'Reach it from your phone', text: 'Your family can, too, if you like.' },
    phone: { title: 'Open it on your phone', text: 'A code signs you in there.' },
    backup: { title: 'Make a first backup', text: 'And see how fast you could be back.' },
    people: { title: 'Let your family in', text: 'Each with files of their own.' },
    chat: { title: 'Ask a model', text: 'With the models of this node.' },
    photos: { title: 'See your photos', text: 'By month, from all your folders.' },
  },
}
