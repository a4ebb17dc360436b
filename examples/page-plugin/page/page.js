/** @type {import('@nodekeep/plugin-sdk/web-page').MountPage} */
export default function mount(element, page) {
  const heading = document.createElement('h1')
  heading.textContent = `You are ${page.user.username}`
  const button = document.createElement('button')
  button.textContent = 'Count my sessions'
  button.addEventListener('click', async () => {
    const answer = await page.fetch('/api/account/sessions')
    const { sessions } = await answer.json()
    page.notice(`You have ${sessions.length} sessions.`)
  })
  element.append(heading, button)
}
