(function () {
  var home = document.getElementById("home");
  if (!home) return;
  var known = /\/(api|assets|concepts|corpus|domains|downloads|lessons|media|pathways|phases|print|projects|roles|schemas|search)(\/|$)/;
  var path = location.pathname;
  var at = path.search(known);
  var root = at < 0 ? path.slice(0, path.lastIndexOf("/") + 1) : path.slice(0, at + 1);
  home.href = root + home.dataset.index;
  home.hidden = false;
  document.getElementById("words").hidden = true;
})();
